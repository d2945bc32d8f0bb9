/** Follows a build of a server on the terminal until it has ended: its waits, its log, its summary. */
import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { isFinalBuild } from '@windlass/plan'
import type { Build, Client } from '@windlass/protocol'
import { getBuild, terminate } from '../api.ts'
import { EXIT, exitCodeOfBuild } from '../exit-codes.ts'
import { toRecord } from '../follow/record.ts'
import { showFeed } from '../follow/show-feed.ts'
import { summarize } from '../follow/summary.ts'
import { untilFinal } from '../follow/until-final.ts'
import type { Printer } from '../printer.ts'
import { catchInterrupts } from './interrupt.ts'

export interface FollowInput {
  readonly client: Client
  readonly build: Build
  readonly out: Printer
  /** The record goes to standard output, everything else to standard error. */
  readonly json?: boolean
  readonly timestamps?: boolean
  /** Show this step alone. */
  readonly step?: string | undefined
  /** Begin with the last so many lines. */
  readonly tail?: number | undefined
  /** A second Ctrl-C ends the build. */
  readonly mayTerminate: boolean
  readonly sources?: ReadonlyMap<string, string>
  /** Name of the file that the build's document came from. */
  readonly file?: string | undefined
}

const SECOND_CTRL_C_MS = 2_000

/** Resolves to the exit code: that of the build, or 130 after Ctrl-C. */
export async function followToEnd(input: FollowInput): Promise<number> {
  const { client, build, out } = input
  const terminal = input.json === true ? out.stderr : out.stdout
  using interrupts = catchInterrupts(systemClock)
  const shown = await showFeed({ ...input, terminal, signal: interrupts.first, follow: true })
  // Awaited here, so that a second Ctrl-C still finds its listener.
  if (interrupts.first.aborted) return await leave(input, interrupts.second)
  const final = await untilFinal({ client, buildId: build.id, clock: systemClock, signal: interrupts.first })
  const record = toRecord(final)
  if (input.step === undefined) {
    const lines = summarize(record, { terminal, ...shown, ...(input.sources && { sources: input.sources }), file: input.file })
    terminal.write(`${lines.join('\n')}\n`)
  }
  if (input.json === true) out.line(JSON.stringify(record, null, 2))
  return exitCodeOfBuild(final.status)
}

/** After the first Ctrl-C: says how to go on; a second one in time ends the build. */
async function leave(
  { client, build, out, mayTerminate }: FollowInput,
  second: (withinMs: number) => Promise<boolean>,
): Promise<number> {
  const current = await getBuild(client, build.id, AbortSignal.timeout(2_000)).catch(() => build)
  if (isFinalBuild(current.status)) return EXIT.interrupted
  out.note(
    `\nThe build goes on. Follow it with \`windlass logs -f ${build.id}\`, end it with \`windlass terminate ${build.id}\`.`,
  )
  if (!mayTerminate) return EXIT.interrupted
  out.note('Press Ctrl-C again now to terminate it.')
  if (!(await second(SECOND_CTRL_C_MS))) return EXIT.interrupted
  await terminate(client, build.id).catch((error: unknown) => {
    if (!isFault(error, 'build-final')) throw error
  })
  out.note(`Build ${build.id} is being terminated.`)
  return EXIT.interrupted
}
