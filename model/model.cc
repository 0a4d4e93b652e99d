// Placeholder of the room until its first files land.
