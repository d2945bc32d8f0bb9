import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { EventName, TOKEN_IN_ADDRESS, type Forge, type Registry, type TriggerInput } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import { openSession } from '../../session/session.ts'

interface WebhookOptions {
  readonly forge: Forge | undefined
  readonly registry: Registry | undefined
  readonly context: string | undefined
  readonly repo: string | undefined
  readonly noPolling: boolean
  readonly secretFile: string | undefined
  readonly output: 'json' | undefined
}

/** Runs `create webhook NAME`. Prints only the secret on standard output, for scripts. */
export async function createWebhook({ args, options, out, settings }: Invocation<WebhookOptions>): Promise<void> {
  const { forge, registry, context, repo, secretFile } = options
  if ((forge === undefined) === (registry === undefined))
    throw fault('usage', {
      message: 'A webhook has a forge or a registry.',
      hint: 'Add either `--forge github` or `--registry dockerhub`, or another name.',
    })
  const secret = secretFile === undefined ? undefined : readInput(secretFile).text.trim()
  const webhook = await openSession(settings).client.webhooks.create({
    name: args[0] ?? '',
    ...defined({ forge, registry, context, repo, secret, polls: options.noPolling ? false : undefined }),
  })
  if (options.output === 'json') return out.line(JSON.stringify(webhook, null, 2))
  const isInAddress = TOKEN_IN_ADDRESS.some((name) => name === registry)
  out.note(
    `Webhook "${webhook.name}" created. Enter this address at the ${registry === undefined ? 'forge' : 'registry'}: ${webhook.url}`,
  )
  if (isInAddress) out.note('The registry cannot send a secret, so add ?token=SECRET to the address.')
  out.note('Its secret, which is not shown again:')
  out.line(webhook.secret)
}

interface TriggerOptions {
  readonly repo: string | undefined
  readonly event: readonly string[]
  readonly context: string | undefined
  readonly provider: string | undefined
  readonly branch: string | undefined
  readonly targetBranch: string | undefined
  readonly comment: string | undefined
  readonly files: string | undefined
  readonly allowForks: boolean
  readonly anyAuthor: boolean
  readonly variable: readonly string[]
  readonly sharedContext: readonly string[]
  readonly runtime: string | undefined
  readonly cpu: string | undefined
  readonly memory: string | undefined
  readonly noCache: boolean
  readonly resetVolume: boolean
  readonly concurrency: number | undefined
  readonly priority: string | undefined
  readonly disabled: boolean
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `create trigger PIPELINE NAME`. */
export async function createTrigger({ args, options, out, settings }: Invocation<TriggerOptions>): Promise<void> {
  const [pipeline = '', name = ''] = args
  const trigger = await openSession(settings).client.triggers.create({ pipeline, name, ...toInput(options) })
  if (options.output !== undefined) return printValue(out, trigger, options.output)
  out.line(`trigger/${trigger.pipeline}#${trigger.name} created`)
}

function toInput(options: TriggerOptions): Omit<TriggerInput, 'pipeline' | 'name'> {
  const { repo, context, provider, runtime: name, cpu, memory, noCache, resetVolume } = options
  if (repo === undefined) throw fault('usage', { message: 'The repository is missing.', hint: 'Add `--repo OWNER/NAME`.' })
  return {
    repo,
    events: options.event.length === 0 ? ['push.heads'] : options.event.map(toEvent),
    contexts: [...options.sharedContext],
    variables: options.variable.map(toVariable),
    pullRequestAllowForkEvents: options.allowForks,
    skipCommentAuthorAssociationValidation: options.anyAuthor,
    disabled: options.disabled,
    runtimeEnvironment: defined({ name, cpu, memory }),
    options: { ...(noCache && { noCache }), ...(resetVolume && { resetVolume }) },
    ...defined({
      context,
      provider,
      branchRegex: options.branch,
      pullRequestTargetBranchRegex: options.targetBranch,
      commentRegex: options.comment,
      modifiedFilesGlob: options.files,
      concurrency: options.concurrency,
      priority: options.priority === undefined ? undefined : toPriority(options.priority),
    }),
  }
}

function toEvent(given: string): EventName {
  const { data } = EventName.safeParse(given)
  if (data !== undefined) return data
  throw fault('usage', {
    message: `The event "${given}" does not exist.`,
    hint: 'Use push, pullrequest, release, or one of their forms in the guide of triggers.',
  })
}

export function toVariable(given: string): { key: string; value: string } {
  const at = given.indexOf('=')
  if (at <= 0) throw fault('usage', { message: `"${given}" is not a variable.`, hint: 'Write it as `NAME=VALUE`.' })
  return { key: given.slice(0, at), value: given.slice(at + 1) }
}

export function toPriority(given: string): number {
  if (/^-?\d{1,3}$/.test(given)) return Number(given)
  throw fault('usage', { message: `--priority takes a number from -100 to 100, not "${given}".` })
}

interface CronOptions {
  readonly expression: string | undefined
  readonly timezone: string | undefined
  readonly message: string | undefined
  readonly gitTrigger: string | undefined
  readonly branch: string | undefined
  readonly variable: readonly string[]
  readonly sharedContext: readonly string[]
  readonly runtime: string | undefined
  readonly disabled: boolean
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `create cron-trigger PIPELINE NAME`. */
export async function createCronTrigger({ args, options, out, settings }: Invocation<CronOptions>): Promise<void> {
  const [pipeline = '', name = ''] = args
  const { expression, timezone, message = name, gitTrigger, branch, runtime } = options
  if (expression === undefined)
    throw fault('usage', { message: 'The expression is missing.', hint: "Add `--expression '0 3 * * *'`." })
  const trigger = await openSession(settings).client.cronTriggers.create({
    pipeline,
    name,
    message,
    expression,
    contexts: [...options.sharedContext],
    variables: options.variable.map(toVariable),
    disabled: options.disabled,
    runtimeEnvironment: defined({ name: runtime }),
    ...defined({ timezone, gitTrigger, branch }),
  })
  if (options.output !== undefined) return printValue(out, trigger, options.output)
  out.line(`cron-trigger/${trigger.pipeline}#${trigger.name} created`)
}
