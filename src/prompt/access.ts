/** How an agent reaches Spine during its run. A transcript may show it: the token is for this run alone, and ends with it. */

import { HOW_TO_ASK } from './asking.ts';

export interface Access {
  readonly url: string;
  readonly runId: string;
  readonly token: string;
}

export function accessSection(access: Access | null): string | null {
  if (access === null) return null;
  const { url, runId, token } = access;
  const call = (path: string, body: object): string =>
    `curl -sS '${url}${path}' -H 'authorization: Bearer ${token}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  return `[SYSTEM NOTE -- Spine]
During this run, and no longer, these calls are yours. The token in them is good for this run alone.
Have something done after this, once and with no more rights than this job has:
${call('/messages', { kind: 'spawn', body: { name: 'follow up', payload_message: 'What is to be done.' } })}
Tell another agent something, or answer a message with reply_to and its id:
${call('/messages', { to_agent: 'main', body: 'What it should know.' })}
Answer a question that came to you as a message, which names this call:
${call('/questions/<id>/answer', { answer: 'Your answer.' })}
Say how far you are, and hear what others have sent you meanwhile (messages):
${call(`/jobs/${runId}/heartbeat`, { progress: 'halfway' })}
Leave a note for whoever goes on after a crash or a question; the last one counts:
${call(`/jobs/${runId}/checkpoint`, { text: 'What is done, and what is left.' })}
Write into the log of this run:
${call(`/jobs/${runId}/logs`, { lines: [{ text: 'What happened.' }] })}
Read a message to its end that is truncated here, by its id:
curl -sS '${url}/messages/<id>' -H 'authorization: Bearer ${token}'
${HOW_TO_ASK}
[END SYSTEM NOTE]`;
}
