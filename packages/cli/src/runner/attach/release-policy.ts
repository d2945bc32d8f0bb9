/** The build policy in the values of a release whose agent is in another cluster, which the agent needs. */
import { z } from 'zod'
import { AGENT_ACCOUNT } from '../install/agent-account.ts'
import type { InstallTarget } from '../install/target.ts'
import { mergeTrees } from '../values/read-values.ts'

/** Policy settings of the agent. Namespaces have their own key in the runtime file. */
const SETTING =
  /^WINDLASS_AGENT_(SERVICE_ACCOUNTS|PRIVILEGED_IMAGES|PLACEMENTS|STORAGE_CLASSES|DAEMON_VARIABLES|POLICY|ALLOWED_[A-Z_]+)$/

const Deployment = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.array(
          z.looseObject({ env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]) }),
        ),
      }),
    }),
  }),
})

/** Returns the policy settings, without prefix, that the chart would give an agent in the release; undefined without a release. */
export async function policyOfRelease(target: InstallTarget): Promise<Readonly<Record<string, string>> | undefined> {
  const helm = target.helm()
  const values = await helm.values(target.release)
  if (values === undefined) return undefined
  const agent = {
    global: { agentTokenSecretKeyRef: { name: AGENT_ACCOUNT, key: 'unused' } },
    runner: { enabled: true, name: AGENT_ACCOUNT },
  }
  const rendered = await helm.render(target.release, mergeTrees(values, agent))
  const found = rendered.find(({ kind, name }) => kind === 'Deployment' && name === AGENT_ACCOUNT)
  return found === undefined ? undefined : policyOfDeployment(found.document)
}

/** Returns the policy in the environment of an agent's Deployment. */
export function policyOfDeployment(deployment: unknown): Readonly<Record<string, string>> {
  const [container] = Deployment.parse(deployment).spec.template.spec.containers
  return Object.fromEntries(
    (container?.env ?? []).flatMap(({ name, value }) => {
      const key = SETTING.exec(name)?.[1]
      return key === undefined || value === undefined ? [] : [[key, value]]
    }),
  )
}
