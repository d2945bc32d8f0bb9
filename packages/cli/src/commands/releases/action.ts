/** Runs the commands that start, end and repeat releases. */
import { systemClock } from '@windlass/kit'
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { LIVE_RELEASE_STATUSES, type Release } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { openSession, type Session } from '../../session/session.ts'
import type { Printer } from '../../printer.ts'

const LOOK_MS = 2_000
const MINUTE_MS = 60_000
const DEFAULT_MINUTES = 60

interface Waiting {
  readonly wait: boolean
  readonly timeout: number | undefined
}

interface PromoteOptions extends Waiting {
  readonly flow: string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
}

/** Runs `gitops promote PRODUCT`. */
export async function promote({ args, options, out, settings }: Invocation<PromoteOptions>): Promise<number> {
  const { flow, from, to } = options
  if ((from === undefined) !== (to === undefined) || (flow !== undefined && from !== undefined))
    throw fault('usage', { message: 'Use either --flow, or --from and --to.', hint: 'windlass gitops promote --help' })
  const session = openSession(settings)
  const release = await session.client.products.release(args[0] ?? '', defined({ flow, from, to }))
  out.line(`release/${release.id} started`)
  out.note(`Release ${release.number} of ${release.product}: windlass describe release ${release.id}`)
  return followRelease(session, release, { out, options })
}

/** Runs `gitops release terminate ID`. */
export async function terminateRelease({ args, out, settings }: Invocation<object>): Promise<void> {
  const { id, status } = await openSession(settings).client.releases.terminate(args[0] ?? '')
  out.line(`release/${id} ${status}`)
}

/** Runs `gitops release retry ID`. */
export async function retryRelease({ args, options, out, settings }: Invocation<Waiting>): Promise<number> {
  const session = openSession(settings)
  const release = await session.client.releases.retry(args[0] ?? '')
  out.line(`release/${release.id} ${release.status}`)
  return followRelease(session, release, { out, options })
}

interface Following {
  readonly out: Printer
  readonly options: Waiting
}

/** Waits for the end of a release if that is wanted, and prints what it waits for. Returns the exit code. */
async function followRelease({ client }: Session, started: Release, { out, options }: Following): Promise<number> {
  if (!options.wait) return 0
  const until = systemClock.monotonic() + (options.timeout ?? DEFAULT_MINUTES) * MINUTE_MS
  let said = ''
  for (;;) {
    const release = await client.releases.get(started.id)
    const line = `${release.status}${release.why === undefined ? '' : `: ${release.why}`}`
    if (line !== said) out.note(line)
    said = line
    if (!LIVE_RELEASE_STATUSES.some((status) => status === release.status))
      return release.status === 'succeeded' ? 0 : release.status === 'terminated' ? 2 : 1
    if (systemClock.monotonic() >= until)
      throw fault('wait-timeout', { message: `The release ${release.id} has not ended yet. It goes on.` })
    await systemClock.sleep(LOOK_MS)
  }
}
