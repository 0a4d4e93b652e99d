// A mapped file that loses its bytes: cut short while it is read, or out of room while it is
// written (shared memory on a full /dev/shm). The system says so by a signal, SIGBUS.
#pragma once

namespace exawarp::core {

// From here on such a signal ends the process with one line that names the file, and
// kSystemErrorExitCode; where it has another reason it does what it does by itself. Of ranks the
// others are ended by mpirun, for this one leaves without farewell.
// Of the whole process; may be called again.
void explain_bus_errors();

}  // namespace exawarp::core
