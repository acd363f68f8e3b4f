/** Every limit that a caller can meet, in one place. */

export const LIMITS = {
  /** JSON nested deeper parses but cannot be printed again. */
  jsonDepth: 64,
  /** Objects and lists in one body: the bodies that are nothing else take longest to read. */
  jsonContainers: 200_000,
  batchJobs: 1_000,
  claimJobs: 1_000,
  /** A claim or a page ends before it is longer than this; it holds at least one item. */
  answerBytes: 8_388_608,
  /** What is smaller is read and sent without asking for room. */
  smallBytes: 65_536,
  claimTargets: 16,
  claimTypes: 64,
  /** That a job requires, or that a claim has. */
  capabilities: 16,
  /** How many different sets of requirements one claim takes jobs of at a time, and how often it looks for one. */
  requirementSets: 32,
  requirementLooks: 256,
  claimWaitMs: 60_000,
  pageJobs: 1_000,
  /** Lists of tasks have all that is unfinished, and of what ended the newest; of what one bot ended, the last ends. */
  endedTasks: 100_000,
  endedOfBot: 10_000,
  /** Claims of one job that are told of at most, and events that are read for it. */
  attemptsShown: 1_000,
  attemptEvents: 20_000,
  dependencies: 256,
  /** Of those that one call names by their numbers, which are so short that many fit into it. */
  jobsByNumber: 10_000,
  /** Types that came into being because a job named them. */
  undeclaredTypes: 1_000,
  /** What a claim brings of the results of dependencies: those that fit, in the order of their jobs; the others are named. */
  inputsBytes: 2_097_152,
  tags: 32,
  nameChars: 100,
  titleChars: 500,
  descriptionChars: 100_000,
  commentChars: 20_000,
  /** Every answer that shows the job shows all of them. */
  commentsPerJob: 1_000,
  /** Of these, left for the operator and for what Spine itself says: whoever works on the job shuts nobody out. */
  commentsReserved: 50,
  /** The newest of them are shown with the job; all have a page of their own. */
  commentsShown: 100,
  /** Of so many of its last claims a job keeps what each of them took. */
  usageClaims: 100,
  /** What a worker brings after its job was failed in its absence is kept in so many comments. */
  lateWords: 100,
  errorChars: 20_000,
  reasonChars: 2_000,
  progressBytes: 16_384,
  logLines: 1_000,
  /** What the holder of a job leaves for the next one. */
  checkpointBytes: 65_536,
  /** Of one question; its answer and its default take as much as one answer. */
  questionChars: 8_000,
  questionChoices: 32,
  choiceChars: 200,
  questionSchemaChars: 10_000,
  questionAnswerBytes: 16_384,
  /** A lineage counts as one job. */
  questionsPerJob: 1_000,
  /** Of one principal, or of one schedule whose runs a server does itself, that nobody has answered. */
  openQuestions: 1_000,
  /** Of those, that one alias was asked: people are asked by others, too. */
  openQuestionsPerAlias: 500,
  /** What a claim tells of them: the newest answers that take no more than this. */
  answersShown: 100,
  answersBytes: 65_536,
  logLineChars: 16_384,
  uniqueKeyChars: 200,
  maxAttempts: 1_000,
  priority: 1_000_000,
  /** What the scoring of a type may add to it. */
  scorePoints: 1_000,
  leaseMsMin: 100,
  leaseMsMax: 86_400_000,
  timeoutMsMax: 30 * 86_400_000,
  backoffMsMax: 86_400_000,
  poolCapacity: 10_000,
  sopChars: 200_000,
  schemaChars: 100_000,
  /** All of one schema are compiled in about 5 ms. */
  schemaKeywords: 5_000,
  cascade: 10_000,
  /** Calls for all jobs that fit a filter: how many are under way at once, and of how many jobs. */
  bulks: 20,
  bulkJobs: 1_000_000,
  bulksShown: 100,
  childrenPerJob: 1_000,
  /** How deep children may have children, and how many jobs may hang below one in all. */
  childDepth: 10,
  descendantsPerJob: 10_000,
  /** How often one run may ask for another, how deep such runs may go, and how many of them one chain has at a time. */
  spawnsPerRun: 100,
  spawnDepth: 3,
  spawnedPerChain: 200,
  /** Commands waiting for a flush; beyond it callers are told to come back. */
  pendingCommands: 50_000,
  waitingClaims: 10_000,
  /** How long a read may wait for the end of its job, and how many do at a time. */
  readWaitMs: 60_000,
  waitingReaders: 10_000,
  /** Ticks of one schedule that are looked at in one transaction. */
  ticksPerPass: 1_000,
  chainDepth: 10,
  /** What a child is told of its parent's output. */
  triggerOutputChars: 20_000,
  /** How often one run is done again because servers or gateways died under it. */
  replays: 5,
  schedules: 10_000,
  previewTicks: 100,
  aliases: 1_000,
  /** Every end of a job is held against each of them. */
  subscriptions: 100,
  /** What is delivered of one text; the run has all of it. */
  deliveryChars: 20_000,
  /**
   * How many may wait for one address, or ten times as many lines of the operator's chat; of what is beyond it, the receiver is told the number. Questions leave some room free for what
   * presses more, and everything else as much again for questions.
   */
  deliveriesPerAddress: 1_000,
  deliveriesKeptFree: 100,
  agents: 1_000,
  messageChars: 20_000,
  messageTtlS: 365 * 86_400,
  /** Messages that may wait for one agent; one sender fills one of so many shares, and the last is the operator's. */
  waitingMessages: 20_000,
  mailboxShares: 10,
  /** Names under which no agent was ever heard, in all and of one sender, and what may wait for each: whoever makes up names fills nothing. */
  unknownRecipients: 200,
  unknownOfOne: 20,
  waitingForUnknown: 1_000,
  /** What one agent may send in ten minutes: two that answer each other stop before a thousand. */
  messagesPerWindow: 480,
  messageWindowMs: 600_000,
  /** Of the messages that wait, so many go with one claim or heartbeat, and so many into a prompt. */
  messagesPerCall: 20,
  messagesPerPrompt: 5,
  /** Ids of arrived messages in one call. */
  messagesReceived: 100,
  /** Broadcasts from before that a new agent gets. */
  broadcastsForNew: 1_000,
  /** In one call of apply; all of them are one transaction. */
  appliedSchedules: 500,
  appliedSettings: 100,
  /** What one edit adds to a job's meta, and all of it. */
  metadataBytes: 16_384,
  metaBytes: 131_072,
  /** Slots of workers, each with a heartbeat, in all and for one token of a worker; and all that a worker says of itself in one. */
  workerSlots: 1_000,
  workerSlotsEach: 200,
  slotMetadataBytes: 4_096,
  /** Those who log in, what each may stay logged in by, and what a password may have. */
  users: 1_000,
  refreshTokensPerUser: 100,
  passwordChars: 1_000,
  emailChars: 254,
  /** Of one batch of data, of one task, and of what a bot calls an item. */
  itemsPerBatch: 500,
  batchesPerTask: 10_000,
  dataBytesPerTask: 1_073_741_824,
  filesPerTask: 10_000,
  externalIdChars: 500,
  /** Wrong passwords in so much time: of one account, and from one address, behind which there may be many bots. */
  loginWindowMs: 300_000,
  loginFailures: 20,
  loginFailuresPerAddress: 1_000,
  /** Logins that wait until their password is looked at. */
  waitingLogins: 100,
  /** Calls with tokens of runs that never counted before, while they wait until the token is looked up. */
  waitingStrangers: 1_000,
  /** Of a session's label. */
  sessionIdChars: 200,
} as const;
