import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { ChannelInput, ChannelType, Notification, NotificationChange, NotifyOn } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { readInput } from '../../input/input-files.ts'
import { NOTIFY_ON_NAMES } from '../../role-names.ts'
import { openSession } from '../../session/session.ts'

type Output = 'json' | 'yaml' | undefined

interface Watched {
  readonly on: readonly string[]
  readonly pipeline: readonly string[]
  readonly project: readonly string[]
  readonly branch: string | undefined
}

interface CreateOptions extends Watched {
  readonly channel: ChannelType | undefined
  readonly urlFile: string | undefined
  readonly secretFile: string | undefined
  readonly to: readonly string[]
  readonly personal: boolean
  readonly mine: boolean
  readonly disabled: boolean
  readonly output: 'json' | undefined
}

/** Runs `create notification NAME`. For a webhook, prints only its key on standard output, for scripts. */
export async function createNotification({ args, options, out, settings }: Invocation<CreateOptions>): Promise<void> {
  const { personal, mine, disabled, on, pipeline, project, branch } = options
  const channel = readChannel(options)
  const created = await openSession(settings).client.notifications.create({
    name: args[0] ?? '',
    channel,
    personal,
    mine,
    disabled,
    pipelines: [...pipeline],
    projects: [...project],
    ...defined({ on: on.length === 0 ? undefined : on.map(toEvent), branch }),
  })
  if (options.output === 'json') return out.line(JSON.stringify(created, null, 2))
  if (created.secret === undefined) return out.line(`notification/${created.name} created`)
  out.note(`Notification "${created.name}" created. The key of its signatures, which is not shown again:`)
  out.line(created.secret)
}

/** Returns the receiver. Throws `usage` for a missing or superfluous flag. */
function readChannel({ channel, urlFile, secretFile, to }: CreateOptions): ChannelInput {
  if (channel === undefined)
    throw fault('usage', { message: 'The kind of receiver is missing.', hint: 'Add `--channel slack`, or another one.' })
  if (secretFile !== undefined && channel !== 'webhook')
    throw fault('usage', { message: '--secret-file applies to webhooks only.', hint: 'Remove it.' })
  if (channel === 'mail') {
    if (to.length === 0 || urlFile !== undefined)
      throw fault('usage', { message: 'A notification by mail needs recipients and no URL.', hint: 'Use `--to ADDRESS`.' })
    return { type: channel, to: [...to] }
  }
  if (urlFile === undefined || to.length > 0)
    throw fault('usage', {
      message: `A notification to ${channel} needs a URL and no recipients.`,
      hint: 'Use `--url-file FILE`.',
    })
  const url = readInput(urlFile).text.trim()
  if (channel !== 'webhook') return { type: channel, url }
  return { type: channel, url, ...defined({ secret: secretFile === undefined ? undefined : readInput(secretFile).text.trim() }) }
}

function toEvent(given: string): NotifyOn {
  const found = NOTIFY_ON_NAMES.find((one) => one === given)
  if (found !== undefined) return found
  throw fault('usage', {
    message: `--on takes one of ${NOTIFY_ON_NAMES.join(', ')}, not "${given}".`,
    hint: 'Repeat --on for several of them.',
  })
}

interface ChangeOptions extends Watched {
  readonly mine: boolean | undefined
  readonly disabled: boolean | undefined
  readonly output: Output
}

/** Runs `set notification NAME`. */
export async function changeNotification({ args, options, out, settings }: Invocation<ChangeOptions>): Promise<void> {
  const { on, pipeline, project, branch, mine, disabled } = options
  const change: NotificationChange = defined({
    on: on.length === 0 ? undefined : on.map(toEvent),
    pipelines: pipeline.length === 0 ? undefined : [...pipeline],
    projects: project.length === 0 ? undefined : [...project],
    branch,
    mine,
    disabled,
  })
  if (Object.keys(change).length === 0)
    throw fault('usage', {
      message: 'There is nothing to change.',
      hint: 'Use --on, --mine, --pipeline, --project, --branch or --disabled.',
    })
  const changed = await openSession(settings).client.notifications.change(args[0] ?? '', change)
  if (options.output !== undefined) return printValue(out, changed, options.output)
  out.line(`notification/${changed.name} changed`)
}

/** Runs `describe notification NAME`. */
export async function describeNotification({ args, options, out, settings }: Invocation<{ output: Output }>): Promise<void> {
  const notification = await openSession(settings).client.notifications.get(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, notification, options.output)
  for (const line of alignColumns(factsOf(notification).filter(([, value]) => value !== ''))) out.line(line)
}

function factsOf(notification: Notification): [string, string][] {
  const { channel, mine, pipelines, projects } = notification
  const isForAll = !mine && pipelines.length === 0 && projects.length === 0
  return [
    ['Notification:', notification.name],
    ['ID:', notification.id],
    ['Personal:', notification.personal ? 'yes' : ''],
    ['Disabled:', notification.disabled ? 'yes' : ''],
    ['Channel:', channel.type],
    ['Receiver:', receiverOf(notification)],
    ['On:', notification.on.join(', ')],
    ['Builds:', [isForAll ? 'all' : '', mine ? 'started by you' : ''].filter((one) => one !== '').join(', ')],
    ['Pipelines:', pipelines.join(', ')],
    ['Projects:', projects.join(', ')],
    ['Branches:', notification.branch ?? ''],
    ['Created:', formatTime(notification.createdAt)],
    ['Last sent:', formatTime(notification.sentAt)],
    ['Problem:', notification.problem ?? ''],
  ]
}

/** Returns the host of a URL, or the recipients of mails. */
function receiverOf({ channel }: Notification): string {
  return channel.host ?? (channel.to ?? []).join(', ')
}

/** Runs `notification test NAME`. */
export async function testNotification({ args, options, out, settings }: Invocation<{ output: Output }>): Promise<number> {
  const [name = ''] = args
  const test = await openSession(settings).client.notifications.test(name)
  if (options.output !== undefined) await printValue(out, test, options.output)
  else if (test.sent) out.line(`notification/${name} sent`)
  else out.note(test.problem ?? 'The message was not sent.')
  return test.sent ? EXIT.success : EXIT.failed
}
