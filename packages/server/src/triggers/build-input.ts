/** What a trigger makes of an event: the request for a build, and what it changes in the settings of the pipeline. */
import { defined, fault } from '@windlass/kit'
import { BuildInput, type GitTrigger } from '@windlass/protocol'
import type { z } from 'zod'
import type { TriggerOverrides } from '../builds/create/prepare.ts'
import type { ForgeEvent } from '../forges/event.ts'

/** Returns the request for a build of the event. Throws `request-invalid` if the facts of the event do not fit into one. */
export function toBuildInput(pipelineId: string, trigger: GitTrigger, event: ForgeEvent): z.output<typeof BuildInput> {
  const { data, error } = BuildInput.safeParse({
    pipeline: pipelineId,
    git: event.git,
    contexts: trigger.contexts,
    ...toMachine(trigger),
    // Builds of triggers always report to the forge.
    enableNotifications: true,
    ...defined({ branch: event.branch, revision: event.revision }),
  })
  if (data !== undefined) return data
  const [issue] = error.issues
  throw fault('request-invalid', {
    message: `The event cannot be built: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}.`,
    hint: 'Shorten the name at the forge.',
  })
}

/** Returns the runtime and the size of the builds of a trigger, as fields of a request. */
export function toMachine({
  runtimeEnvironment = {},
}: Pick<GitTrigger, 'runtimeEnvironment'>): Pick<z.input<typeof BuildInput>, 'machine' | 'runtime'> {
  const { name: runtime, cpu, memory, dindStorage: disk } = runtimeEnvironment
  return { machine: defined({ cpu, memory, disk }), ...defined({ runtime }) }
}

type Overriding = Pick<GitTrigger, 'name' | 'variables'> & Partial<Pick<GitTrigger, 'options' | 'terminationPolicy' | 'priority'>>

/** Returns what a Git or cron trigger changes in the settings of its pipeline. */
export function toOverrides({ name, variables, options, terminationPolicy, priority }: Overriding): TriggerOverrides {
  return {
    name,
    variables: Object.fromEntries(variables.map(({ key, value }) => [key, value])),
    ...defined({ options, terminationPolicy, priority }),
  }
}
