/** Follows a build on a server until it ends: queue state, log and summary. */
import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { EXIT, exitCodeOfBuild } from '../../exit-codes.ts'
import { textFor } from '../../follow/line-splitter.ts'
import { toRecord } from '../../follow/record.ts'
import { showFeed, type Shown } from '../../follow/show-feed.ts'
import { summarize } from '../../follow/summary.ts'
import { hasEnded, untilFinal } from '../../follow/until-final.ts'
import type { Printer } from '../../printer.ts'
import { catchInterrupts } from '../run/interrupt.ts'

export interface FollowInput {
  readonly client: ApiClient
  readonly build: Build
  readonly out: Printer
  /** Writes the record to standard output and everything else to standard error. */
  readonly json?: boolean
  readonly timestamps?: boolean
  /** Shows only this step. */
  readonly step?: string | undefined
  /** Starts with this number of last lines. */
  readonly tail?: number | undefined
  /** Lets a second Ctrl-C terminate the build. */
  readonly mayTerminate: boolean
  readonly sources?: ReadonlyMap<string, string>
  /** File name of the build's document. */
  readonly file?: string | undefined
}

const SECOND_CTRL_C_MS = 2_000

/** Follows the build. Resolves to its exit code, or 130 after Ctrl-C. */
export async function followToEnd(input: FollowInput): Promise<number> {
  const { client, build, out } = input
  const terminal = input.json === true ? out.stderr : out.stdout
  using interrupts = catchInterrupts(systemClock)
  const { first: signal } = interrupts
  const follow = async (): Promise<{ shown: Shown; final: Build }> => {
    const shown = await showFeed({ ...input, terminal, signal, follow: true })
    return { shown, final: await untilFinal({ client, buildId: build.id, clock: systemClock, signal, isKnown: true }) }
  }
  const ended = await follow().catch((error: unknown) => {
    if (signal.aborted) return undefined
    throw error
  })
  // Awaited here, so that the listener still handles a second Ctrl-C.
  if (ended === undefined) return await leave(input, interrupts.second)
  const { shown, final } = ended
  const record = toRecord(final)
  if (input.step === undefined) {
    const lines = summarize(record, { terminal, ...shown, ...(input.sources && { sources: input.sources }), file: input.file })
    terminal.write(textFor(terminal, `${lines.join('\n')}\n`))
  }
  if (input.json === true) out.line(JSON.stringify(record, null, 2))
  return exitCodeOfBuild(final.status)
}

/** Handles the first Ctrl-C: prints how to continue, and terminates the build if a second one follows in time. */
async function leave(
  { client, build, out, mayTerminate }: FollowInput,
  second: (withinMs: number) => Promise<boolean>,
): Promise<number> {
  const current = await client.builds.get(build.id, { signal: AbortSignal.timeout(2_000) }).catch(() => build)
  if (hasEnded(current)) return EXIT.interrupted
  out.note(
    `\nThe build continues. Follow it with \`windlass logs -f ${build.id}\`, terminate it with \`windlass terminate ${build.id}\`.`,
  )
  if (!mayTerminate) return EXIT.interrupted
  out.note(`Press Ctrl-C again within ${SECOND_CTRL_C_MS / 1000} s to terminate it.`)
  if (!(await second(SECOND_CTRL_C_MS))) return EXIT.interrupted
  await client.builds.terminate(build.id).catch((error: unknown) => {
    if (!isFault(error, 'build-final')) throw error
  })
  out.note(`Build ${build.id} is being terminated.`)
  return EXIT.interrupted
}
