/** `gitops image list` and `gitops image get`. */
import { isId, systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { formatBytes } from '@windlass/plan'
import { MAX_IMAGE_REPORTS_PAGE, type ImageReport } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

interface Shown {
  readonly output: 'json' | 'yaml' | undefined
}

const DIGEST_SHOWN = 'sha256:'.length + 12
const COMMIT_SHOWN = 8

interface ListOptions extends Shown {
  readonly image: string | undefined
  readonly commit: string | undefined
  readonly limit: number | undefined
}

/** Runs `gitops image list`. */
export async function listReports({ options, out, settings }: Invocation<ListOptions>): Promise<void> {
  const { image, commit, limit } = options
  const { client } = openSession(settings)
  const query = { image, commit: commit?.toLowerCase(), limit: Math.min(limit ?? 50, MAX_IMAGE_REPORTS_PAGE) }
  const { items, next } = await client.imageReports.list({ query })
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No reports of images found.')
  const now = systemClock.now()
  const head = ['IMAGE', 'TAGS', 'DIGEST', 'COMMIT', 'PULL', 'ISSUES', 'WORKFLOW', 'AGE'].map((cell) =>
    out.stdout.style.dim(cell),
  )
  const rows = items.map((report) => [
    report.image,
    (report.tags ?? []).join(','),
    report.digest.slice(0, DIGEST_SHOWN),
    report.git?.commit?.slice(0, COMMIT_SHOWN) ?? '',
    report.git?.pull === undefined ? '' : `#${report.git.pull.number}`,
    (report.issues ?? []).map(({ key }) => key).join(','),
    report.workflow.name,
    formatAge(report.reportedAt, now),
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  if (next !== undefined) out.note(`Only the newest ${items.length} reports are shown. See --limit and --image.`)
  return undefined
}

/** Runs `gitops image get IMAGE`. */
export async function getReport({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [name = ''] = args
  const { client } = openSession(settings)
  const report = isId(name)
    ? await client.imageReports.get(name)
    : (await client.imageReports.list({ query: { image: name, limit: 1 } })).items[0]
  if (report === undefined)
    throw fault('not-found', {
      message: `Nothing was reported of the image "${name}".`,
      hint: 'List what was reported with `windlass gitops image list`, or report it with `windlass gitops image report IMAGE`.',
    })
  if (options.output !== undefined) return printValue(out, report, options.output)
  for (const line of describe(report)) out.line(line)
  return undefined
}

function describe(report: ImageReport): string[] {
  const { git, issues = [], workflow, sizeBytes, builtAt } = report
  const now = systemClock.now()
  const { pull } = git ?? {}
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Image:', report.image],
    ['Digest:', report.digest],
    ['Tags:', report.tags?.join(', ')],
    ['Platforms:', report.platforms?.join(', ')],
    ['Size:', sizeBytes === undefined ? undefined : formatBytes(sizeBytes)],
    ['Built:', builtAt === undefined ? undefined : formatTime(builtAt)],
    ['Repository:', git?.repo],
    ['Branch:', git?.branch],
    ['Commit:', [git?.commit, git?.message].filter((text) => text !== undefined).join(' ')],
    ['Author:', git?.author],
    [
      'Pull request:',
      pull && [`#${pull.number}`, pull.title, pull.state && `(${pull.state})`, pull.url].filter(Boolean).join(' '),
    ],
    ...issues.map(
      ({ key, title, status, assignee }) =>
        ['Issue:', [key, title, status && `(${status})`, assignee && `of ${assignee}`].filter(Boolean).join(' ')] as const,
    ),
    ['Workflow:', [workflow.name, workflow.url].filter(Boolean).join(' ')],
    ['Build:', report.build],
    ['Reported by:', report.runtime === undefined ? report.by : `GitOps runtime ${report.runtime}`],
    ['Reported:', `${formatTime(report.reportedAt)} (${formatAge(report.reportedAt, now)} ago)`],
  ]
  return alignColumns(facts.flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]])))
}
