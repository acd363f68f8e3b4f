/** What a model is asked about a failure. What the worker has said of it is a quotation: data, and no instruction. */

import { quoted, quoteSection } from './quote.ts';

export function failurePrompt(failure: string, nonce: string): string {
  return `${quoteSection(nonce)}

A task failed with this error:
${quoted(failure, nonce)}

Generate a 1-2 sentence instruction for the retry, explaining what to do differently. If the error looks permanent (invalid
data, missing API), respond with SKIP, and after a dash why. Answer with the instruction or with SKIP alone.`;
}
