/** The approval prompt of a local build. */
import { sanitizeLine } from '@windlass/ansi'
import { createInterface } from 'node:readline/promises'
import type { PlanStep } from '@windlass/plan'
import type { Terminal } from '../../printer.ts'

/** Asks until the answer is yes or no. Resolves to undefined without a terminal, or if `signal` is aborted. */
export async function askApproval(
  step: Pick<PlanStep, 'name' | 'title'>,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<'approved' | 'denied' | undefined> {
  if (!process.stdin.isTTY) {
    terminal.write(
      `Step ${step.name} waits for an approval until its timeout. To decide it in advance, add --approve ${step.name} or --deny ${step.name}.\n`,
    )
    return undefined
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    for (;;) {
      const answer = await lines.question(
        `${terminal.style.yellow('?')} ${sanitizeLine(step.title)} waits for an approval. Approve it? [y/n] `,
        {
          signal,
        },
      )
      if (/^y(es)?$/i.test(answer.trim())) return 'approved'
      if (/^no?$/i.test(answer.trim())) return 'denied'
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}
