/** Stores what workflows, jobs and builds say about images (docs/development/adr/0157-image-reports.md). */
import { defined, fault, newId } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import type { ImageGit, ImageIssue, ImageReport, ImageReportInput } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { nameOf, type Actor } from '../../identity/actor.ts'
import { deleteOldestOfSource, lockImageReport, updateImageReport } from '../../store/runtimes/image-reports.ts'
import type { Tx } from '../../store/store.ts'
import { ReportFacts, tagsOf, toReport } from './stored-report.ts'

/** Reports of a source. A new one takes the place of the one that was not repeated for longest. */
const MAX_REPORTS = 5_000
/** Longest facts of a report, as JSON. Bytes. */
const MAX_FACTS_BYTES = 16_384

/** Who reports. Nobody changes the reports of another source. */
interface Source {
  /** Id of the runtime or the build; empty for API keys, which share their reports. */
  readonly id: string
  readonly shown: Pick<ReportFacts, 'runtime' | 'build' | 'by'>
}

export interface SourcedReport {
  readonly accountId: string
  readonly source: Source
  readonly report: ImageReportInput
  readonly now: number
}

/** Stores a report of a GitOps runtime, or of the owner of an API key. Throws `forbidden` for other callers. */
export async function takeImageReport(app: App, actor: Actor, report: ImageReportInput): Promise<ImageReport> {
  const source = sourceOf(actor)
  return app.store.write(async (tx) => {
    noteSubject(`image ${report.image}@${report.digest.slice(0, 19)}`)
    return saveReport(tx, { accountId: app.accountId, source, report, now: app.clock.now() })
  })
}

function sourceOf(actor: Actor): Source {
  if (actor.kind === 'gitops-runtime') return { id: actor.runtimeId, shown: { runtime: actor.name } }
  if (actor.kind === 'key') return { id: '', shown: { by: nameOf(actor) } }
  throw fault('forbidden')
}

/**
 * Adds the report to what the same source has said about the same image in the same workflow. The same report again changes only its time. Throws
 * `request-invalid` if the facts are too long together.
 */
export async function saveReport(tx: Tx, { accountId, source, report, now }: SourcedReport): Promise<ImageReport> {
  const { image, digest, tags, ...given } = report
  const fresh = { workflow: given.workflow, ...source.shown }
  const id = newId(now)
  const row = await lockImageReport(tx, {
    id,
    account_id: accountId,
    name: image,
    digest,
    source: source.id,
    workflow: given.workflow.name,
    revision: '',
    tags: '[]',
    facts: JSON.stringify(fresh),
    created_at: now,
    reported_at: now,
  })
  const before = ReportFacts.parse(parseJson(row.facts))
  const facts = fitFacts({
    ...before,
    ...defined(given),
    ...source.shown,
    workflow: { ...before.workflow, ...defined(given.workflow) },
    ...defined({ git: joinGit(before.git, given.git) }),
  })
  const changes = {
    revision: facts.git?.commit ?? '',
    tags: JSON.stringify(tags ?? tagsOf(row)),
    facts: JSON.stringify(facts),
    reported_at: now,
  }
  await updateImageReport(tx, row.id, changes)
  if (row.id === id) await deleteOldestOfSource(tx, { accountId, source: source.id, keep: MAX_REPORTS })
  return toReport({ ...row, ...changes })
}

/** Leaves out the last issues if the facts are too long with them. Throws `request-invalid` for facts that are too long without. */
function fitFacts({ issues, ...facts }: ReportFacts): ReportFacts {
  let room = MAX_FACTS_BYTES - sizeOf(facts)
  if (room < 0)
    throw fault('request-invalid', {
      message: `The facts of an image must have at most ${MAX_FACTS_BYTES} bytes of JSON together.`,
      hint: 'Shorten the message and the addresses of the commit, or leave out platforms.',
    })
  if (issues === undefined) return facts
  const fitting: ImageIssue[] = []
  room -= ISSUES_BYTES
  for (const issue of issues) {
    room -= sizeOf(issue) + 1
    if (room < 0) break
    fitting.push(issue)
  }
  return { ...facts, issues: fitting }
}

const ISSUES_BYTES = ',"issues":[]'.length

function sizeOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** What is known of one commit is put together, and another commit replaces it. */
function joinGit(before: ImageGit | undefined, given: ImageGit | undefined): ImageGit | undefined {
  if (before === undefined || given === undefined) return given ?? before
  const isOther = before.commit !== undefined && given.commit !== undefined && before.commit !== given.commit
  return isOther ? given : { ...before, ...defined(given) }
}
