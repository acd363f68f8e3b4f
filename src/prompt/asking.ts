/** How an agent asks in the middle of its work, wherever its replies are heard. */

export const HOW_TO_ASK = `If you cannot go on without somebody's answer, reply with nothing but: ASK <@alias or name>: <question>
You are called again with the answer.`;
