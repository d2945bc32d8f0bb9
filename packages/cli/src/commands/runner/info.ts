/** The commands `runner info` and `runner execute-test-pipeline`. */
import { listAll, type ApiClient } from '@windlass/client'
import { fault, isFault } from '@windlass/kit/faults'
import { completeSpec, type GitlabManager } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { DEMO_PIPELINE, putDemo, registryOf, runDemo } from '../../runner/demo.ts'
import { agentTable, managerTable } from '../../runner/show-agents.ts'
import { openSession } from '../../session/session.ts'
import { systemClock } from '@windlass/kit'

/** Prints the table of agents, and that of the managers of GitLab runners in their pods. The exit code is 1 if an agent is not healthy. */
export async function runnerInfo({ out, settings }: Invocation<object>): Promise<number> {
  const session = openSession(settings)
  const { items: agents } = await session.client.agents.list()
  if (agents.length === 0) {
    out.note('No agent is installed. Install one with `windlass runner init`.')
    return EXIT.failed
  }
  const shown = { now: systemClock.now(), style: out.stdout.style }
  for (const line of agentTable(agents, shown)) out.line(line)
  const managers = await managersOfAgents(session.client)
  if (managers.length > 0) for (const line of ['', ...managerTable(managers, shown)]) out.line(line)
  out.note(`To test it: windlass runner execute-test-pipeline   (pipeline ${DEMO_PIPELINE} at ${session.url})`)
  return agents.every(({ health }) => health === 'healthy') ? EXIT.success : EXIT.failed
}

/** Returns the managers whose reports agents pass on; none for a key that may not see them, or a server that does not know them. */
async function managersOfAgents({ gitlabJobs }: ApiClient): Promise<GitlabManager[]> {
  try {
    const managers = await listAll(({ query }) => gitlabJobs.managers({ query }))
    return managers.filter(({ agent }) => agent !== undefined)
  } catch (error) {
    if (isFault(error, 'forbidden', 'scope-missing', 'not-found')) return []
    throw error
  }
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
