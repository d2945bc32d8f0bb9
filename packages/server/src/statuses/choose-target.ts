/** Chooses where the state of a new build is reported: at a commit, in a forge. */
import { gitVariables, initialScope, substitute, type Trigger } from '@windlass/plan'
import { defined } from '@windlass/kit'
import { GitTrigger, ProxyIntegration, type BuildInput, type GitFactsInput, type PipelineSettings } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { buildUrl } from '../builds/create/build-url.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import { listTriggers } from '../store/triggers/triggers.ts'
import { listWebhooks } from '../store/triggers/webhooks.ts'
import { accepts, isForgeWebhook, type ForgeWebhook } from '../triggers/rules/accepts.ts'
import { MAX_TEXT, type CommitTarget } from './commit-target.ts'

/** Webhooks and triggers that are searched for those of a build that a user starts. */
const MAX_SEARCHED = 1_000

/** What a Git trigger adds to a build that it starts. */
export interface Reporting {
  readonly trigger: Pick<GitTrigger, 'commitStatusTitle'>
  readonly webhook: Pick<ForgeWebhook, 'forge' | 'context' | 'app_proxy'>
  /** `owner/name`. */
  readonly repo: string
}

interface ReportedBuild {
  readonly pipeline: Pick<PipelineRow, 'id' | 'name'>
  /** Link to the build. */
  readonly url: string
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly git: GitFactsInput | undefined
}

/** Returns true if builds of the webhook can be reported: it has a token, or an app-proxy that has one. */
function canReport({ context, app_proxy: appProxy }: Reporting['webhook']): boolean {
  return context !== null || appProxy !== null
}

/** Returns where a build is reported. Undefined if its webhook has neither context nor app-proxy, or the whole hash of its commit is not known. */
function toTarget({ trigger, webhook, repo }: Reporting, build: ReportedBuild): CommitTarget | undefined {
  const { url, revision = '' } = build
  // A short hash names no commit in the APIs of forges.
  if (!canReport(webhook) || !/^[0-9a-f]{40,64}$/.test(revision)) return undefined
  const { forge, context, app_proxy: appProxy } = webhook
  const by =
    appProxy === null ? defined({ context: context ?? undefined }) : { appProxy: ProxyIntegration.parse(JSON.parse(appProxy)) }
  return { forge, ...by, repo, revision, title: titleOf(trigger, build), url }
}

/** Returns the title: that of the trigger, with references to the variables of the event replaced, or the name of the pipeline. */
function titleOf({ commitStatusTitle: title }: Reporting['trigger'], build: ReportedBuild): string {
  const { pipeline, branch, revision, git } = build
  if (title === undefined) return pipeline.name.slice(0, MAX_TEXT)
  const known = { ...gitVariables({ ...git, branch, revision }), CF_PIPELINE_NAME: pipeline.name }
  const variables = Object.fromEntries(Object.entries(known).map(([name, value]) => [name, { value }]))
  return substitute(title, initialScope([{ level: 'system', variables }])).text.slice(0, MAX_TEXT)
}

export interface NewBuild {
  readonly id: string
  readonly request: Pick<z.output<typeof BuildInput>, 'branch' | 'revision' | 'git' | 'trigger' | 'enableNotifications'>
  readonly trigger: Trigger
  /** Set for builds of Git triggers. */
  readonly reporting: Reporting | undefined
  readonly pipeline: Pick<PipelineRow, 'id' | 'name'> | undefined
  /** With the options of the trigger. */
  readonly settings: Pick<PipelineSettings, 'options'>
}

/** Returns where a new build is reported: as its trigger says, or for a user who asks for it, as that trigger would. Undefined for nowhere. */
export async function chooseTarget(app: App, build: NewBuild): Promise<CommitTarget | undefined> {
  const { id, request, trigger, pipeline, settings } = build
  const { options } = settings
  if (pipeline === undefined || !options.commitStatus) return undefined
  const isAsked = trigger.kind === 'manual' && (request.enableNotifications || options.enableNotifications)
  const reporting = build.reporting ?? (isAsked ? await findReporting(app, pipeline.id, request.trigger) : undefined)
  const { branch, revision, git } = request
  return reporting && toTarget(reporting, { pipeline, url: buildUrl(app, id), branch, revision, git })
}

/** Returns what a build that a user starts reports: what one of the trigger `name` would, or of the only Git trigger of its pipeline. */
async function findReporting(
  { store, accountId }: App,
  pipelineId: string,
  name: string | undefined,
): Promise<Reporting | undefined> {
  const page = { accountId, after: undefined, limit: MAX_SEARCHED }
  const rows = await listTriggers(store.query, { ...page, pipelineId })
  const row = name === undefined && rows.length === 1 ? rows[0] : rows.find((one) => one.name === name)
  if (row === undefined) return undefined
  const trigger = GitTrigger.parse(JSON.parse(row.spec))
  const webhooks = await listWebhooks(store.query, page)
  const webhook = webhooks.filter(isForgeWebhook).find((one) => canReport(one) && accepts(trigger, one))
  return webhook && { trigger, webhook, repo: trigger.repo }
}
