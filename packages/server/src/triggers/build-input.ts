/** What a trigger makes of an event: the request for a build, and what it changes in the settings of the pipeline. */
import { defined, fault } from '@windlass/kit'
import { BuildInput, type GitTrigger } from '@windlass/protocol'
import type { z } from 'zod'
import type { TriggerOverrides } from '../builds/create/prepare.ts'
import type { ForgeEvent } from '../forges/event.ts'

/** Returns the request for a build of the event. Throws `request-invalid` if the facts of the event do not fit into one. */
export function toBuildInput(pipelineId: string, trigger: GitTrigger, event: ForgeEvent): z.output<typeof BuildInput> {
  const { name: runtime, cpu, memory, dindStorage: disk } = trigger.runtimeEnvironment ?? {}
  const { data, error } = BuildInput.safeParse({
    pipeline: pipelineId,
    git: event.git,
    contexts: trigger.contexts,
    machine: defined({ cpu, memory, disk }),
    // Builds of triggers always report to the forge.
    enableNotifications: true,
    ...defined({ branch: event.branch, revision: event.revision, runtime }),
  })
  if (data !== undefined) return data
  const [issue] = error.issues
  throw fault('request-invalid', {
    message: `The event cannot be built: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}.`,
    hint: 'Shorten the name at the forge.',
  })
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
