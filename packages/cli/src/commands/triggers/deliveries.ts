import { fault } from '@windlass/kit/faults'
import { defined } from '@windlass/kit/defined'
import { plural } from '@windlass/plan'
import {
  deliveryLabels,
  NO_BUILD_REASONS,
  type Delivery,
  type Forge,
  type Registry,
  type TriggerTest,
  type TriggerVerdict,
} from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import type { Style } from '../../format/style.ts'
import { formatTime } from '../../format/time.ts'
import { readInput } from '../../input/input-files.ts'
import { openSession } from '../../session/session.ts'

type Output = 'json' | 'yaml' | undefined

/** Runs `describe delivery ID`. */
export async function describeDelivery({ args, options, out, settings }: Invocation<{ output: Output }>): Promise<void> {
  const delivery = await openSession(settings).client.deliveries.get(requireDeliveryId(args[0] ?? ''))
  if (options.output !== undefined) return printValue(out, delivery, options.output)
  const { style } = out.stdout
  for (const line of alignColumns(factsOf(delivery).filter(([, value]) => value !== ''))) out.line(line)
  for (const verdict of delivery.triggers ?? []) for (const line of verdictLines(verdict, style)) out.line(line)
}

/** Runs `replay delivery ID`. */
export async function replayDelivery({ args, options, out, settings }: Invocation<{ output: Output }>): Promise<void> {
  const delivery = await openSession(settings).client.deliveries.replay(requireDeliveryId(args[0] ?? ''))
  if (options.output !== undefined) return printValue(out, delivery, options.output)
  out.line(`delivery/${delivery.id} created`)
  out.note(`Show its result with \`windlass describe delivery ${delivery.id}\`.`)
}

interface TestOptions {
  readonly forge: Forge | undefined
  readonly registry: Registry | undefined
  readonly event: string | undefined
  readonly pipeline: string | undefined
  readonly output: Output
}

/** Forges whose calls name their event in a header. The others name it in the body. */
const BY_HEADER: ReadonlySet<Forge> = new Set(['github', 'gitea', 'bitbucket', 'bitbucket-server'])

/** Runs `trigger test FILE`. */
export async function testTriggers({ args, options, out, settings }: Invocation<TestOptions>): Promise<number> {
  const { registry, event, pipeline } = options
  const forge = options.forge ?? (registry === undefined ? 'github' : undefined)
  if (event === undefined && forge !== undefined && BY_HEADER.has(forge))
    throw fault('usage', {
      message: `${forge} names the event in a header of the call, which is not in the file.`,
      hint: 'Add --event, such as push or pull_request.',
    })
  const body = readInput(args[0] ?? '').text
  const test = await openSession(settings).client.triggers.test({ body, ...defined({ forge, registry, event, pipeline }) })
  if (options.output !== undefined) await printValue(out, test, options.output)
  else for (const line of testLines(test, { forge, registry }, out.stdout.style)) out.line(line)
  return test.triggers.some(({ reason }) => reason === undefined) ? EXIT.success : EXIT.failed
}

function testLines(test: TriggerTest, sender: Pick<Delivery, 'forge' | 'registry'>, style: Style): string[] {
  const facts: [string, string][] = [
    ['Event:', test.events.join(', ')],
    ...subjectFacts({ ...test, ...sender }),
    ['Reason:', whyOf(test)],
  ]
  return [...alignColumns(facts.filter(([, value]) => value !== '')), ...test.triggers.flatMap((one) => verdictLines(one, style))]
}

function factsOf(delivery: Delivery): [string, string][] {
  return [
    ['Delivery:', delivery.id],
    ['Webhook:', webhookText(delivery)],
    ['Event:', `${delivery.event ?? ''}${delivery.isPolled === true ? ' (missed by the webhook, found by polling)' : ''}`],
    ...subjectFacts(delivery),
    ['Status:', delivery.status],
    ['Reason:', whyOf(delivery)],
    ['Builds:', delivery.builds.join(', ')],
    ['Replay of:', delivery.replayOf ?? ''],
    ['Repeated:', delivery.repeats === 0 ? '' : plural(delivery.repeats, 'time')],
    ['Received:', formatTime(delivery.receivedAt)],
    ['Processed:', formatTime(delivery.processedAt)],
  ]
}

function subjectFacts(of: Pick<Delivery, 'forge' | 'registry' | 'repo' | 'branch' | 'revision'>): [string, string][] {
  const labels = deliveryLabels(of)
  return (['repo', 'branch', 'revision'] as const).map((field) => [`${labels[field]}:`, of[field] ?? ''])
}

/** The end of a build has no webhook. */
function webhookText({ webhook, forge, registry }: Delivery): string {
  const sender = forge ?? registry ?? ''
  return webhook === undefined ? sender : `${webhook} (${sender})`
}

function whyOf({ reason, message }: Pick<TriggerVerdict, 'reason' | 'message'>): string {
  return reason === undefined ? '' : `${reason}: ${message ?? textOf(reason)}`
}

/** A newer server may send a reason that this version does not know. */
function textOf(reason: string): string {
  return Object.hasOwn(NO_BUILD_REASONS, reason) ? NO_BUILD_REASONS[reason as keyof typeof NO_BUILD_REASONS] : reason
}

function verdictLines(verdict: TriggerVerdict, style: Style): string[] {
  const { pipeline, trigger, rules } = verdict
  const result = verdict.reason === undefined ? style.green(buildText(verdict)) : style.red(whyOf(verdict))
  const rows = rules.map(({ rule, holds, text }) => [`  ${holds ? style.green('✔') : style.red('✖')} ${rule}`, text])
  return ['', `${style.bold(`${pipeline}#${trigger}`)}: ${result}`, ...alignColumns(rows)]
}

function buildText({ buildId, needsApproval }: TriggerVerdict): string {
  const text = buildId === undefined ? 'builds' : `build ${buildId}`
  return needsApproval === true ? `${text} after an approval` : text
}

function requireDeliveryId(text: string): string {
  // `get deliveries -o name` prints it with its kind.
  const [, id] = /^(?:delivery\/)?([0-9a-f]{24})$/.exec(text) ?? []
  if (id === undefined)
    throw fault('not-found', {
      message: `"${text}" is not a delivery id.`,
      hint: 'List deliveries with `windlass get deliveries`.',
    })
  return id
}
