/** `runner info` and `runner execute-test-pipeline`. */
import { fault } from '@windlass/kit/faults'
import { listAgents, listRuntimes } from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { DEMO_PIPELINE, putDemo, runDemo } from '../runner/demo.ts'
import { agentTable } from '../runner/show-agents.ts'
import { openSession } from '../session.ts'
import { systemClock } from '@windlass/kit'

/** The table of agents; exit code 1 when one of them is not healthy. */
export async function runnerInfo({ out, settings }: Invocation<object>): Promise<number> {
  const session = openSession(settings)
  const agents = await listAgents(session.client)
  if (agents.length === 0) {
    out.note('There is no agent. Install one with `windlass runner init`.')
    return EXIT.failed
  }
  for (const line of agentTable(agents, { now: systemClock.now(), style: out.stdout.style })) out.line(line)
  out.note(`Try it: windlass runner execute-test-pipeline   (pipeline ${DEMO_PIPELINE} at ${session.url})`)
  return agents.every(({ health }) => health === 'healthy') ? EXIT.success : EXIT.failed
}

/** Makes or updates the demo pipeline, runs it and follows it. Resolves to the exit code of the build. */
export async function executeTestPipeline({
  options,
  out,
  settings,
}: Invocation<{ runtimeName: string | undefined; demoImage: string | undefined }>): Promise<number> {
  const { client } = openSession(settings)
  const runtimes = await listRuntimes(client)
  const wanted = options.runtimeName
  const found = runtimes.find(({ name, isDefault }) => (wanted === undefined ? isDefault : name === wanted))
  if (found === undefined)
    throw fault('runtime-unknown', {
      message: wanted === undefined ? 'There is no default runtime environment.' : `There is no runtime environment ${wanted}.`,
      hint: 'Name one with --runtime-name; `windlass get re` lists them.',
    })
  await putDemo(client, { runtime: found.name, registry: undefined, image: options.demoImage })
  return runDemo(client, found.name, out)
}
