/** Reports the images that builds push. The engine says what was pushed, and the server knows the commit, so no step can claim another one. */
import { defined } from '@windlass/kit'
import {
  IMAGE_REPORT_MAX as MAX,
  ImageReportInput,
  toCommitHash,
  toReportLine,
  toWebAddress,
  type EngineEvent,
  type ImageGit,
} from '@windlass/protocol'
import { readRequest } from '../../builds/create/request.ts'
import type { BuildEdit } from '../../builds/lifecycle/edit.ts'
import { findBuildRequest } from '../../store/builds/builds.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { saveReport } from './take-report.ts'

type Pushed = Extract<EngineEvent, { type: 'image' }>

/** Does nothing for an image that was not pushed, or whose name or digest is not in the form of a registry. */
export async function reportBuilt({ tx, build, now }: BuildEdit, event: Pushed): Promise<void> {
  if (!event.pushed || event.digest === undefined) return
  const { name, digest, tags, sizeBytes } = event
  const workflow = { name: `${build.pipeline ?? 'build'} #${build.number}` }
  const git = await gitOf(tx, build)
  const report = ImageReportInput.safeParse({ image: name, digest, tags, workflow, ...defined({ sizeBytes, git }) }).data
  if (report === undefined) return
  await saveReport(tx, { accountId: build.account_id, source: { id: build.id, shown: { build: build.id } }, report, now })
}

async function gitOf(tx: Tx, build: BuildRow): Promise<ImageGit | undefined> {
  const request = await findBuildRequest(tx.query, build.id)
  const git = request === undefined ? undefined : readRequest(request).git
  const repo = git?.repoOwner === undefined || git.repoName === undefined ? undefined : `${git.repoOwner}/${git.repoName}`
  const number = Number(git?.pullRequest?.number)
  const title = toReportLine(git?.pullRequest?.title, MAX.title)
  const found = defined({
    repo: toReportLine(repo, MAX.repo),
    commit: toCommitHash(build.revision),
    branch: toReportLine(build.branch, MAX.branch),
    message: toReportLine(build.commit_message, MAX.message),
    author: toReportLine(build.commit_author, MAX.author),
    url: toWebAddress(git?.commitUrl),
    pull: Number.isSafeInteger(number) && number > 0 ? { number, ...defined({ title }) } : undefined,
  })
  return Object.keys(found).length === 0 ? undefined : found
}
