/** The final output of `runner init`. */
import { readSecret, TOKEN_SECRET } from '../cluster/secrets.ts'
import { printAgents } from '../show-agents.ts'
import { RELEASE_NAME } from '../install/target.ts'
import type { InstallContext } from './actions.ts'

/** Prints the agents, the next commands, and the token that restores this agent if its cluster is lost. */
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
    if (choices.appProxy) {
      out.note('Before it, the token of the app-proxy:')
      out.note(
        `  windlass install app-proxy --token-only --kube-namespace ${names.namespace} --runtime-environment ${names.runtimeName}`,
      )
    }
    if (choices.demo !== 'none') out.note(`  windlass runner execute-test-pipeline --runtime-name ${names.runtimeName}`)
  }
  const stored = async (): Promise<string | undefined> =>
    (await readSecret(cluster.kube, names.namespace, TOKEN_SECRET.name))?.[TOKEN_SECRET.key]
  const token = context.token ?? (await stored())
  if (token === undefined) return
  out.note('')
  out.note(`Agent token (not shown again). \`windlass install agent --token-file FILE\` restores the agent with it:`)
  out.line(token)
}
