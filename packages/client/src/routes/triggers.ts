/** Webhooks of forges and registries, triggers of pipelines, deliveries, and messages to other services. */
import {
  CronTriggerInput,
  Delivery,
  DeliveryQuery,
  EventTriggerInput,
  MessageQuery,
  OutgoingMessage,
  page,
  PageQuery,
  PipelineCronTrigger,
  PipelineEventTrigger,
  PipelineTrigger,
  TriggerInput,
  TriggerQuery,
  TriggerTest,
  TriggerTestInput,
  Webhook,
  WebhookCreated,
  WebhookInput,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const webhooks = {
  list: route('GET', '/v1/webhooks', { query: PageQuery, answer: page(Webhook) }),
  /** Creates a webhook. Only this response contains its secret. */
  create: route('POST', '/v1/webhooks', { body: WebhookInput, answer: WebhookCreated, isKeyed: true }),
  get: route('GET', '/v1/webhooks/{name}', { answer: Webhook }),
  delete: route('DELETE', '/v1/webhooks/{name}', { answer: 'nothing' }),
}

/** Triggers, by id or `pipeline#name`. */
export const triggers = {
  list: route('GET', '/v1/triggers', { query: TriggerQuery, answer: page(PipelineTrigger) }),
  create: route('POST', '/v1/triggers', { body: TriggerInput, answer: PipelineTrigger, isKeyed: true }),
  get: route('GET', '/v1/triggers/{name}', { answer: PipelineTrigger }),
  /** Replaces a trigger. Throws `conflict` for one of a document. */
  put: route('PUT', '/v1/triggers/{name}', { body: TriggerInput, answer: PipelineTrigger }),
  delete: route('DELETE', '/v1/triggers/{name}', { answer: 'nothing' }),
  /** Judges the triggers of an event without starting a build. */
  test: route('POST', '/v1/triggers/test', { body: TriggerTestInput, answer: TriggerTest }),
}

/** Cron triggers, by id or `pipeline#name`. */
export const cronTriggers = {
  list: route('GET', '/v1/cron-triggers', { query: TriggerQuery, answer: page(PipelineCronTrigger) }),
  create: route('POST', '/v1/cron-triggers', { body: CronTriggerInput, answer: PipelineCronTrigger, isKeyed: true }),
  get: route('GET', '/v1/cron-triggers/{name}', { answer: PipelineCronTrigger }),
  /** Replaces a cron trigger. Throws `conflict` for one of a document. */
  put: route('PUT', '/v1/cron-triggers/{name}', { body: CronTriggerInput, answer: PipelineCronTrigger }),
  delete: route('DELETE', '/v1/cron-triggers/{name}', { answer: 'nothing' }),
}

/** Triggers for images, charts and ended builds, by id or `pipeline#name`. */
export const eventTriggers = {
  list: route('GET', '/v1/event-triggers', { query: TriggerQuery, answer: page(PipelineEventTrigger) }),
  create: route('POST', '/v1/event-triggers', { body: EventTriggerInput, answer: PipelineEventTrigger, isKeyed: true }),
  get: route('GET', '/v1/event-triggers/{name}', { answer: PipelineEventTrigger }),
  /** Replaces a trigger. Throws `conflict` for one of a document. */
  put: route('PUT', '/v1/event-triggers/{name}', { body: EventTriggerInput, answer: PipelineEventTrigger }),
  delete: route('DELETE', '/v1/event-triggers/{name}', { answer: 'nothing' }),
}

export const deliveries = {
  /** Lists deliveries, newest first. */
  list: route('GET', '/v1/deliveries', { query: DeliveryQuery, answer: page(Delivery) }),
  get: route('GET', '/v1/deliveries/{id}', { answer: Delivery }),
  /** Processes the event of a delivery again. */
  replay: route('POST', '/v1/deliveries/{id}/replay', { answer: Delivery, isKeyed: true }),
}

/** Commit statuses and notifications. */
export const messages = {
  /** Lists messages, newest first. */
  list: route('GET', '/v1/messages', { query: MessageQuery, answer: page(OutgoingMessage) }),
  get: route('GET', '/v1/messages/{id}', { answer: OutgoingMessage }),
  /** Sends a message again. */
  retry: route('POST', '/v1/messages/{id}/retry', { answer: OutgoingMessage, isKeyed: true }),
}
