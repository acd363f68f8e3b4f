/** Loaded into a server before its own code: signals plant the errors that no call can. */

process.on('SIGUSR2', () => void Promise.reject(new Error('a planted rejection')));
process.on('SIGPIPE', () => {
  throw new Error('a planted exception');
});
