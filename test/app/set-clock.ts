/** Loaded into a server before its own code: a signal sets the machine's clock forward by an hour. */

const wallMs = Date.now.bind(Date);
let setByMs = 0;
Date.now = () => wallMs() + setByMs;
process.on('SIGUSR2', () => void (setByMs += 3_600_000));
