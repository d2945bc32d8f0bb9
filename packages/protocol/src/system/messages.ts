/** Messages that the server sends to other services, as `/v1` shows them. */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'

/**
 * `commit-status`: the state of a build at the commit, in its forge. `notification`: a build or approval for people. `notice`: a build or approval whose
 * notifications the server still has to find.
 */
export const MESSAGE_KINDS = ['commit-status', 'notification', 'notice'] as const
export const MessageKind = z.enum(MESSAGE_KINDS)
export type MessageKind = z.infer<typeof MessageKind>

/** `waiting`: to be sent, for the first time or again. `failed`: given up, after a refusal or many tries. */
export const MESSAGE_STATES = ['waiting', 'sent', 'failed'] as const

export const OutgoingMessage = z.object({
  id: Id,
  kind: MessageKind,
  /** Where it is sent, and about what. */
  subject: z.string(),
  build: Id.optional(),
  state: z.enum(MESSAGE_STATES),
  /** Why the last try failed. */
  problem: z.string().optional(),
  tries: z.int(),
  nextAt: Time.optional(),
  sentAt: Time.optional(),
  createdAt: Time,
  updatedAt: Time,
})
export type OutgoingMessage = z.infer<typeof OutgoingMessage>

export const MessageQuery = PageQuery.extend({
  state: z.enum(MESSAGE_STATES).optional(),
  kind: MessageKind.optional(),
  /** Id of a build. */
  build: Id.optional(),
  /** Id of the last message of the previous page. */
  cursor: Id.optional(),
})
