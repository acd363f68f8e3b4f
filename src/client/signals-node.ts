/** The signals by which an operating system asks a process to end. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Calls back at the first one; a second one ends the process as if nobody listened. */
export function onTermination(callback: () => void): () => void {
  const stopListening = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, heard);
  };
  const heard = (): void => {
    stopListening();
    callback();
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return stopListening;
}
