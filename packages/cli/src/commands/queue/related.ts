import { systemClock } from '@windlass/kit'
import { plural } from '@windlass/plan'
import type { Build, RelatedBuilds } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'

/** Runs `get related BUILD`. */
export async function listRelated({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const related = await openSession(settings).client.builds.related(requireBuildId(args[0] ?? ''))
  if (options.output !== undefined) return printValue(out, related, options.output)
  const rows = toRows(related)
  if (rows.length === 0) return out.note('No related builds found.')
  const { style } = out.stdout
  const now = systemClock.now()
  const head = ['RELATION', 'ID', 'NUMBER', 'PIPELINE', 'STATUS', 'BRANCH', 'AGE'].map((cell) => style.dim(cell))
  const lines = rows.map(([relation, build]) => [
    relation,
    build.id,
    String(build.number),
    build.pipeline ?? '',
    paintStatus(style, build.status),
    build.branch ?? '',
    formatAge(build.createdAt, now),
  ])
  for (const line of alignColumns([head, ...lines])) out.line(line)
  const { red } = related
  if (red !== undefined)
    out.line(`Failed since ${plural(red.builds, 'build')} and ${plural(red.commits, 'commit')} of the branch.`)
}

function toRows({
  parent,
  restartOf,
  previous,
  next,
  lastGreen,
  firstRed,
  children,
  restarts,
}: RelatedBuilds): [string, Build][] {
  const single = { parent, 'restart of': restartOf, previous, next, 'last success': lastGreen, 'first failure': firstRed }
  return [
    ...Object.entries(single).flatMap(([relation, build]): [string, Build][] => (build === undefined ? [] : [[relation, build]])),
    ...children.map((build): [string, Build] => ['child', build]),
    ...restarts.map((build): [string, Build] => ['restart', build]),
  ]
}
