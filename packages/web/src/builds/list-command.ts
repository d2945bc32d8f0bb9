/** The command line that lists the same builds as the page. */
import { shellWord } from '@windlass/plan'
import { isUnfiltered, type BuildFilter } from '../url/build-filter.ts'

/** Returns the command; undefined for filters that it has no options for. */
export function toListCommand(filter: BuildFilter): string | undefined {
  if (isUnfiltered(filter)) return 'windlass get builds'
  const { status, reason, q, from, to } = filter
  // The command takes one reason.
  if (reason !== undefined && reason.length > 1) return undefined
  const repeated = (
    [
      ['--project', filter.project],
      ['--pipeline', filter.pipeline],
      ['--branch', filter.branch],
      ['--initiator', filter.by],
      ['--trigger', filter.trigger],
      ['--runtime', filter.runtime],
      ['--reason', reason],
      ['--annotation', filter.annotation],
    ] as const
  ).flatMap(([option, values]) => (values ?? []).flatMap((value) => [option, value]))
  const words = [
    'windlass',
    'get',
    'builds',
    ...(status === undefined ? [] : ['--status', status.join(',')]),
    ...repeated,
    ...(q === undefined ? [] : ['--query', q]),
    ...(from === undefined ? [] : ['--since', new Date(from).toISOString()]),
    ...(to === undefined ? [] : ['--until', new Date(to).toISOString()]),
  ]
  return words.map(shellWord).join(' ')
}
