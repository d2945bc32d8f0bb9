/** The kinds around triggers: their calls and columns. */
import { fault } from '@windlass/kit/faults'
import {
  DELIVERY_STATUSES,
  MESSAGE_STATES,
  type Delivery,
  type OutgoingMessage,
  type PipelineCronTrigger,
  type PipelineEventTrigger,
  type PipelineTrigger,
  type Webhook,
} from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const webhooks: Kind<Webhook> = {
  name: 'webhooks',
  singular: 'webhook',
  of: ({ webhooks: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    SENDER: ({ forge, registry }) => forge ?? registry ?? '',
    CONTEXT: ({ context }) => context ?? '',
    REPOSITORY: ({ repo }) => repo ?? '',
    URL: ({ url }) => url,
    AGE: age,
  },
  wide: { ID: ({ id }) => id, POLLED: ({ polls }) => (polls === true ? 'yes' : 'no') },
}

export const triggers: Kind<PipelineTrigger> = {
  name: 'triggers',
  singular: 'trigger',
  of: ({ triggers: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ pipeline, name }) => `${pipeline}#${name}`,
  columns: {
    NAME: ({ pipeline, name }) => `${pipeline}#${name}`,
    REPOSITORY: ({ repo }) => repo,
    EVENTS: ({ events }) => events.join(','),
    BRANCH: ({ branchRegex }) => branchRegex ?? '',
    ENABLED: ({ disabled }) => (disabled ? 'no' : 'yes'),
    ORIGIN: ({ origin }) => origin,
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    FILES: ({ modifiedFilesGlob }) => modifiedFilesGlob ?? '',
    TARGET: ({ pullRequestTargetBranchRegex }) => pullRequestTargetBranchRegex ?? '',
    CONTEXT: ({ context }) => context ?? '',
  },
}

export const cronTriggers: Kind<PipelineCronTrigger> = {
  name: 'cron-triggers',
  singular: 'cron-trigger',
  of: ({ cronTriggers: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ pipeline, name }) => `${pipeline}#${name}`,
  columns: {
    NAME: ({ pipeline, name }) => `${pipeline}#${name}`,
    EXPRESSION: ({ expression }) => expression,
    ZONE: ({ timezone }) => timezone,
    NEXT: ({ nextAt }) => formatTime(nextAt),
    LAST: ({ firedAt }, { now }) => (firedAt === undefined ? 'never' : formatAge(firedAt, now)),
    ORIGIN: ({ origin }) => origin,
    AGE: age,
  },
  wide: { ID: ({ id }) => id, MESSAGE: ({ message }) => message, PROBLEM: ({ problem }) => problem ?? '' },
}

export const eventTriggers: Kind<PipelineEventTrigger> = {
  name: 'event-triggers',
  singular: 'event-trigger',
  of: ({ eventTriggers: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ pipeline, name }) => `${pipeline}#${name}`,
  columns: {
    NAME: ({ pipeline, name }) => `${pipeline}#${name}`,
    TYPE: ({ type }) => type,
    SUBJECT: (trigger) => subjectOf(trigger).subject,
    FILTER: (trigger) => subjectOf(trigger).filter ?? '',
    ENABLED: ({ disabled }) => (disabled ? 'no' : 'yes'),
    ORIGIN: ({ origin }) => origin,
    AGE: age,
  },
  wide: { ID: ({ id }) => id },
}

/** Returns what a trigger waits for, and which of its events. */
function subjectOf(trigger: PipelineEventTrigger): { readonly subject: string; readonly filter: string | undefined } {
  switch (trigger.type) {
    case 'registry':
      return { subject: trigger.image, filter: trigger.tag }
    case 'helm':
      return { subject: trigger.chart, filter: trigger.version }
    case 'build':
      return { subject: trigger.source, filter: trigger.statuses.join(',') }
  }
}

export const deliveries: Kind<Delivery> = {
  name: 'deliveries',
  singular: 'delivery',
  of: ({ deliveries: { list, get } }) => ({
    list: ({ query: { status, webhook, repo, pipeline, branch, limit, cursor } }) =>
      list({ query: { webhook, repo, pipeline, branch: branch?.[0], limit, cursor, status: readStatus(status) } }),
    get,
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    WEBHOOK: ({ webhook, forge, registry }) => webhook ?? forge ?? registry ?? '',
    EVENT: ({ event }) => event ?? '',
    REPOSITORY: ({ repo }) => repo ?? '',
    'BRANCH/TAG': ({ branch }) => branch ?? '',
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    BUILDS: ({ builds: ids }) => String(ids.length),
    REASON: ({ reason }) => reason ?? '',
    AGE: ({ receivedAt }, { now }) => formatAge(receivedAt, now),
  },
  wide: {
    COMMIT: ({ revision }) => (revision ?? '').slice(0, 8),
    REPEATS: ({ repeats }) => String(repeats),
    MESSAGE: ({ message }) => message ?? '',
  },
}

export const messages: Kind<OutgoingMessage> = {
  name: 'messages',
  singular: 'message',
  of: ({ messages: { list, get } }) => ({
    list: ({ query: { status, limit, cursor } }) => list({ query: { limit, cursor, state: readState(status) } }),
    get,
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    KIND: ({ kind }) => kind,
    SUBJECT: ({ subject }) => subject,
    STATE: ({ state }, { style }) => paintStatus(style, state),
    TRIES: ({ tries }) => String(tries),
    PROBLEM: ({ problem }) => problem ?? '',
    AGE: age,
  },
  wide: { BUILD: ({ build }) => build ?? '', NEXT: ({ nextAt }) => formatTime(nextAt), SENT: ({ sentAt }) => formatTime(sentAt) },
}

/** Returns the state to filter by. Throws `usage` for a text that is not one. */
function readState(given: string | undefined): OutgoingMessage['state'] | undefined {
  const found = MESSAGE_STATES.find((state) => state === given)
  if (found === undefined && given !== undefined)
    throw fault('usage', { message: `"${given}" is not a state of messages.`, hint: `Use one of ${MESSAGE_STATES.join(', ')}.` })
  return found
}

/** Returns the status to filter by. Throws `usage` for a text that is not one. */
function readStatus(given: string | undefined): Delivery['status'] | undefined {
  const found = DELIVERY_STATUSES.find((status) => status === given)
  if (found === undefined && given !== undefined)
    throw fault('usage', {
      message: `"${given}" is not a status of deliveries.`,
      hint: `Use one of ${DELIVERY_STATUSES.join(', ')}.`,
    })
  return found
}
