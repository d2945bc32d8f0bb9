/** Notifications about builds: who is told, of what and where; and the mail server that sends those by mail. */
import { z } from 'zod'
import { Id, Name, PageQuery, Time } from '../base.ts'

/**
 * `webhook`: a signed JSON document. `slack`: an incoming webhook of Slack, or of a service with the same format. `teams`: a webhook of a Teams
 * workflow. `mail`: through the mail server of the installation.
 */
export const CHANNEL_TYPES = ['webhook', 'slack', 'teams', 'mail'] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]

/**
 * `failure`: a build failed. `recovery`: a build succeeded, and the latest earlier one of its pipeline and branch that succeeded or failed had failed.
 * `always`: a build ended in any way. `approval`: a step waits for an approval.
 */
export const NOTIFY_ON = ['failure', 'recovery', 'always', 'approval'] as const
export type NotifyOn = (typeof NOTIFY_ON)[number]
export const NotifyOn = z.enum(NOTIFY_ON)

/** What a notification reports, as a webhook names it. */
export const NOTICE_TYPES = [
  'build.failed',
  'build.recovered',
  'build.succeeded',
  'build.terminated',
  'build.waiting',
  'test',
] as const
export type NoticeType = (typeof NOTICE_TYPES)[number]

const MAX_URL = 2000

/** Returns true for a URL without user name, password and fragment. A path or a query can be a secret of the receiver. */
function isReceiverUrl(text: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\p{Cc}\\#]/u.test(text)) return false
  return URL.canParse(text) && !/^[^/]*\/\/[^/]*@/.test(text)
}

const ReceiverUrl = z
  .string()
  .max(MAX_URL)
  .refine(isReceiverUrl, 'must be an http or https URL without user name, password and fragment')

/** Key of a webhook: `whsec_` and the base64 form of 24 to 64 bytes, as the libraries of Standard Webhooks expect it. */
const SigningSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'must be `whsec_` and the base64 form of 24 to 64 bytes')
  .refine((text) => text.slice('whsec_'.length).length % 4 === 0, 'must be `whsec_` and the base64 form of 24 to 64 bytes')

export const MailAddress = z.email('must be a mail address').max(254)

const ChannelInput = z.discriminatedUnion('type', [
  /** Without `secret` the server chooses one. */
  z.strictObject({ type: z.literal('webhook'), url: ReceiverUrl, secret: SigningSecret.optional() }),
  z.strictObject({ type: z.literal('slack'), url: ReceiverUrl }),
  z.strictObject({ type: z.literal('teams'), url: ReceiverUrl }),
  z.strictObject({ type: z.literal('mail'), to: z.array(MailAddress).min(1).max(10) }),
])
export type ChannelInput = z.infer<typeof ChannelInput>

const Names = z.array(Name).max(100)
/** `/pattern/flags`, or a glob; a leading `!` negates a glob. */
const Filter = z.string().min(1).max(1000)

/** Which builds a notification is about: those of any of the pipelines and projects, and with `mine` those of its owner. Without all three: every build. */
const Rule = z.strictObject({
  on: z.array(NotifyOn).min(1).max(NOTIFY_ON.length).default(['failure', 'recovery']),
  /** Builds that the owner has started. Only for personal notifications. */
  mine: z.boolean().default(false),
  /** Names or ids. */
  pipelines: Names.default([]),
  projects: Names.default([]),
  /** Only builds of these branches. */
  branch: Filter.optional(),
})

/**
 * Creates a notification. A personal one belongs to its creator, who needs to see its builds; others belong to the pipelines and projects that they
 * name. Those do not report builds that users start, unless `enableNotifications` is on.
 */
export const NotificationInput = Rule.extend({
  name: Name,
  personal: z.boolean().default(false),
  channel: ChannelInput,
  disabled: z.boolean().default(false),
})
export type NotificationInput = z.input<typeof NotificationInput>

/** Omitted fields keep their value. An empty `branch` removes the filter. */
export const NotificationChange = z.strictObject({
  on: Rule.shape.on.unwrap().optional(),
  mine: z.boolean().optional(),
  pipelines: Names.optional(),
  projects: Names.optional(),
  branch: z.string().max(1000).optional(),
  disabled: z.boolean().optional(),
})
export type NotificationChange = z.infer<typeof NotificationChange>

/** The URL of a channel is a secret; only its host is shown. */
export const Notification = z.object({
  id: Id,
  name: z.string(),
  personal: z.boolean(),
  channel: z.object({
    type: z.enum(CHANNEL_TYPES),
    host: z.string().optional(),
    to: z.array(z.string()).optional(),
  }),
  on: z.array(NotifyOn),
  mine: z.boolean(),
  /** Names; the id of one that was deleted. */
  pipelines: z.array(z.string()),
  projects: z.array(z.string()),
  branch: z.string().optional(),
  disabled: z.boolean(),
  createdAt: Time,
  /** When the receiver last got a message. */
  sentAt: Time.optional(),
  /** Why the last message was not sent. */
  problem: z.string().optional(),
})
export type Notification = z.infer<typeof Notification>

/** The only response that contains the key with which a webhook is signed. */
export const NotificationCreated = Notification.extend({ secret: z.string().optional() })
export type NotificationCreated = z.infer<typeof NotificationCreated>

export const NotificationQuery = PageQuery.extend({
  /** Id of the last notification of the previous page. */
  cursor: Id.optional(),
})

/** Result of a test message. */
export const NotificationTest = z.object({ sent: z.boolean(), problem: z.string().optional() })
export type NotificationTest = z.infer<typeof NotificationTest>

/** The document that a webhook gets. Its `id` is that of the message: a repeated message has the same one. */
export const NoticeDocument = z.object({
  id: Id,
  type: z.enum(NOTICE_TYPES),
  /** When it happened, ISO 8601. */
  timestamp: z.string(),
  data: z.object({
    notification: z.string(),
    text: z.string(),
    /** Absent in a test. */
    build: z
      .object({
        id: Id,
        number: z.int(),
        url: z.string(),
        status: z.string(),
        reason: z.string().optional(),
        message: z.string().optional(),
        pipeline: z.string().optional(),
        project: z.string().optional(),
        branch: z.string().optional(),
        revision: z.string().optional(),
        initiator: z.string(),
        trigger: z.object({ kind: z.string(), name: z.string().optional() }),
        createdAt: Time,
        startedAt: Time.optional(),
        finishedAt: Time.optional(),
      })
      .optional(),
    /** The first step that failed, or the step that waits for an approval. */
    step: z
      .object({
        name: z.string(),
        title: z.string(),
        status: z.string(),
        reason: z.string().optional(),
        message: z.string().optional(),
        exitCode: z.int().optional(),
      })
      .optional(),
  }),
})
export type NoticeDocument = z.infer<typeof NoticeDocument>

/** `starttls`: the connection must become encrypted before anything is sent. `tls`: it is encrypted from the start. */
export const MAIL_SECURITY = ['starttls', 'tls', 'none'] as const
export type MailSecurity = (typeof MAIL_SECURITY)[number]

const MailHost = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$|^[0-9A-Fa-f:]+$/, 'must be a host name or an IP address')
const MailDomain = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, 'must be a domain such as example.com')

/** The mail server of the installation. Replaces the stored one; without a password it keeps that of the same host and user. */
export const MailServerInput = z.strictObject({
  host: MailHost,
  /** Default: 587 for `starttls`, 465 for `tls`, 25 for `none`. */
  port: z.int().min(1).max(65_535).optional(),
  security: z.enum(MAIL_SECURITY).default('starttls'),
  username: z.string().min(1).max(200).optional(),
  password: z.string().min(1).max(1000).optional(),
  /** Sender of the mails. */
  from: MailAddress,
  /** Only recipients in these domains; any if empty. */
  domains: z.array(MailDomain).max(100).default([]),
  /** PEM certificates to trust instead of those of public authorities. */
  ca: z.string().max(65_536).includes('-----BEGIN CERTIFICATE-----', 'must be PEM certificates').optional(),
})
export type MailServerInput = z.input<typeof MailServerInput>

export const MailServer = z.object({
  host: z.string(),
  port: z.int(),
  security: z.enum(MAIL_SECURITY),
  username: z.string().optional(),
  hasPassword: z.boolean(),
  from: z.string(),
  domains: z.array(z.string()),
  ca: z.string().optional(),
  updatedAt: Time,
})
export type MailServer = z.infer<typeof MailServer>
