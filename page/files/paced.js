// paced returns a function that calls work, one call at a time, with a pause behind
// each: least milliseconds, or ten times what the call took if that is more. Calls
// that come meanwhile are one call after the pause.
export function paced(work, least) {
  let running = false;
  let again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    again = false;
    const began = performance.now();
    try {
      await work();
    } finally {
      setTimeout(() => {
        running = false;
        if (again) run();
      }, Math.max(least, 10 * (performance.now() - began)));
    }
  };
}
