import { listAll } from '@windlass/client'
import { systemClock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import type { ApprovalItem } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

interface ListOptions {
  readonly state: 'open' | 'decided' | undefined
  readonly limit: number | undefined
  readonly output: 'json' | 'yaml' | 'name' | undefined
}

const SHOWN = 50

/** Runs `get approvals`. */
export async function listApprovals({ options, out, settings }: Invocation<ListOptions>): Promise<void> {
  const { client } = openSession(settings)
  const { state = 'open', limit = SHOWN, output } = options
  const items = await listAll(({ query }) => client.builds.approvals({ query: { ...query, state } }), limit)
  if (output === 'name') {
    // The arguments of `windlass approve`. A build that waits before its start has no step.
    for (const { build, step } of items) out.line(`build/${build.id}${step === '' ? '' : ` ${step}`}`)
    return
  }
  if (output !== undefined) return printValue(out, items, output)
  if (items.length === 0) return out.note(state === 'open' ? 'No step waits for approval.' : 'No approvals found.')
  const { style } = out.stdout
  const now = systemClock.now()
  const columns = Object.entries(state === 'open' ? OPEN : DECIDED)
  const head = columns.map(([name]) => style.dim(name))
  for (const line of alignColumns([head, ...items.map((item) => columns.map(([, cell]) => cell(item, now)))])) out.line(line)
}

type Columns = Readonly<Record<string, (item: ApprovalItem, now: number) => string>>

const COMMON: Columns = {
  BUILD: ({ build }) => build.id,
  NUMBER: ({ build }) => String(build.number),
  PIPELINE: ({ build }) => build.pipeline ?? '',
  BRANCH: ({ build }) => build.branch ?? '',
  STEP: ({ step }) => step,
}

const OPEN: Columns = {
  ...COMMON,
  WAITS: ({ waitingSince }, now) => formatAge(waitingSince, now),
  LEFT: ({ expiresAt }, now) => formatDuration(Math.max(0, expiresAt - now)),
  'MAY DECIDE': ({ may }) => (may ? 'yes' : 'no'),
  NEXT: ({ next }) => next.join(', '),
}

const DECIDED: Columns = {
  ...COMMON,
  DECISION: ({ decision }) => decision ?? '',
  BY: ({ by }) => by?.name ?? '',
  AGE: ({ decidedAt }, now) => (decidedAt === undefined ? '' : formatAge(decidedAt, now)),
  COMMENT: ({ comment }) => comment ?? '',
}
