package server

// unknownMemory is what a machine is taken to have when it does not tell.
const unknownMemory = 2 << 30
