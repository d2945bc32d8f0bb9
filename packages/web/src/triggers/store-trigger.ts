/** Calls that change triggers of any kind, and read the lists again. */
import type { CronTriggerInput, EventTriggerInput, TriggerInput } from '@windlass/protocol'
import { calls } from './calls.ts'
import { queryClient } from '../server/query-client.ts'
import { toInput, type AnyTrigger } from './describe-trigger.ts'

function refresh(pipeline: string): void {
  void queryClient.invalidateQueries({ queryKey: ['pipeline', pipeline] })
}

/** Creates a Git trigger, or replaces the one with this id. */
export async function storeGitTrigger(input: TriggerInput, id: string | undefined): Promise<void> {
  await (id === undefined ? calls.triggers.create(input) : calls.triggers.put(id, input))
  refresh(input.pipeline)
}

/** Creates a cron trigger, or replaces the one with this id. */
export async function storeCronTrigger(input: CronTriggerInput, id: string | undefined): Promise<void> {
  await (id === undefined ? calls.cronTriggers.create(input) : calls.cronTriggers.put(id, input))
  refresh(input.pipeline)
}

/** Creates a trigger for images, charts or ended builds, or replaces the one with this id. */
export async function storeEventTrigger(input: EventTriggerInput, id: string | undefined): Promise<void> {
  await (id === undefined ? calls.eventTriggers.create(input) : calls.eventTriggers.put(id, input))
  refresh(input.pipeline)
}

/** Disables or enables a trigger. */
export async function setDisabled(trigger: AnyTrigger, disabled: boolean): Promise<void> {
  if (trigger.type === 'git') await calls.triggers.put(trigger.id, { ...toInput(trigger), disabled })
  else if (trigger.type === 'cron') {
    const { nextAt: _next, firedAt: _fired, problem: _problem, ...input } = toInput(trigger)
    await calls.cronTriggers.put(trigger.id, { ...input, disabled })
  } else await calls.eventTriggers.put(trigger.id, { ...toInput(trigger), disabled })
  refresh(trigger.pipeline)
}

export async function removeTrigger(trigger: AnyTrigger): Promise<void> {
  const ofType = trigger.type === 'git' ? calls.triggers : trigger.type === 'cron' ? calls.cronTriggers : calls.eventTriggers
  await ofType.delete(trigger.id)
  refresh(trigger.pipeline)
}
