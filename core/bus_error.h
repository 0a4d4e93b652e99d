// A mapped file that loses its bytes: cut short while it is read, or out of room while it is
// written (shared memory on a full /dev/shm). The system says so by a signal, SIGBUS.
#pragma once

namespace exawarp::core {

// From here on such a signal ends the process with one line that names the file, and
// kSystemErrorExitCode; a signal with another cause has its usual effect. Of several ranks,
// mpirun ends the others, since this one leaves without a farewell.
// Of the whole process; may be called again.
void explain_bus_errors();

}  // namespace exawarp::core
