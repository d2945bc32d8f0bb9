/** What `runner init` says at its end. */
import { readSecret, TOKEN_SECRET } from '../cluster/secrets.ts'
import { printAgents } from '../show-agents.ts'
import { RELEASE_NAME } from '../install/place.ts'
import type { InstallContext } from './actions.ts'

/** The agents, where to look on, and once the token that brings this agent back should its cluster be lost. */
export async function finish(context: InstallContext): Promise<void> {
  const { out, session, names, choices, cluster } = context
  out.note('')
  await printAgents(session.client, out)
  out.note('')
  out.note(`Runtime environment: windlass get re ${names.runtimeName}`)
  out.note(`Builds:              windlass get builds   (${session.url})`)
  if (choices.helmValuesFile !== undefined) {
    out.note('Install with Helm:')
    out.note(
      `  helm upgrade --install ${RELEASE_NAME} CHART -f ${choices.helmValuesFile} --create-namespace --namespace ${names.namespace}`,
    )
    if (choices.demo !== 'none') out.note(`  windlass runner execute-test-pipeline --runtime-name ${names.runtimeName}`)
  }
  const stored = async (): Promise<string | undefined> =>
    (await readSecret(cluster.kube, names.namespace, TOKEN_SECRET.name))?.[TOKEN_SECRET.key]
  const token = context.token ?? (await stored())
  if (token === undefined) return
  out.note('')
  out.note(
    `The token of the agent, shown only now. With it \`windlass install agent --token-file FILE\` brings the same agent back:`,
  )
  out.line(token)
}
