/** The commands `runner info` and `runner execute-test-pipeline`. */
import { fault } from '@windlass/kit/faults'
import { completeSpec } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { DEMO_PIPELINE, putDemo, registryOf, runDemo } from '../../runner/demo.ts'
import { agentTable } from '../../runner/show-agents.ts'
import { openSession } from '../../session.ts'
import { systemClock } from '@windlass/kit'

/** Prints the table of agents. The exit code is 1 if one is not healthy. */
export async function runnerInfo({ out, settings }: Invocation<object>): Promise<number> {
  const session = openSession(settings)
  const { items: agents } = await session.client.agents.list()
  if (agents.length === 0) {
    out.note('No agent is installed. Install one with `windlass runner init`.')
    return EXIT.failed
  }
  for (const line of agentTable(agents, { now: systemClock.now(), style: out.stdout.style })) out.line(line)
  out.note(`To test it: windlass runner execute-test-pipeline   (pipeline ${DEMO_PIPELINE} at ${session.url})`)
  return agents.every(({ health }) => health === 'healthy') ? EXIT.success : EXIT.failed
}

/** Creates or updates the demo pipeline, runs it and follows it. Resolves to the exit code of the build. */
export async function executeTestPipeline({
  options,
  out,
  settings,
}: Invocation<{ runtimeName: string | undefined; demoImage: string | undefined }>): Promise<number> {
  const { client } = openSession(settings)
  const { items: runtimes } = await client.runtimes.list()
  const wanted = options.runtimeName
  const found = runtimes.find(({ name, isDefault }) => (wanted === undefined ? isDefault : name === wanted))
  if (found === undefined)
    throw fault('runtime-unknown', {
      message:
        wanted === undefined ? 'No runtime environment is the default.' : `The runtime environment "${wanted}" does not exist.`,
      hint: 'Name one with --runtime-name; list them with `windlass get re`.',
    })
  const { spec } = await client.runtimes.get(found.name, { query: { merged: true } })
  const registry = registryOf(completeSpec(spec).runtimeScheduler.image)
  await putDemo(client, { runtime: found.name, registry, image: options.demoImage })
  return runDemo(client, found.name, out)
}
