/** The acceptance test that runs in a pod, for network and node. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { daemonSecurity, diskPath } from '@windlass/manifests'
import { completeSpec, type RuntimeLayer } from '@windlass/protocol'
import { checkNode, type NodeCheck } from '../../doctor/check-node.ts'
import type { Finding } from './finding.ts'

export interface PodTest {
  readonly kube: Kube
  readonly namespace: string
  /** The runtime to install, whose images, selectors and variables builds use. */
  readonly runtime: RuntimeLayer
  /** Server URL that engines will use. */
  readonly serverUrl: string
  /** PEM file of the server's private certificate authority. */
  readonly caFile: string | undefined
}

const PROXY_VARIABLES = /^(https?|no)_proxy$/i

/** Checks the connection to the server from the pod network, and what the Docker daemon needs of a node. The pod is removed. */
export async function testFromPod(test: PodTest): Promise<Finding[]> {
  const findings: Finding[] = []
  await checkNode(nodeCheckOf(test), (finding) => findings.push(finding))
  return findings
}

/** Returns the server URL that the runtime sets for its engines; undefined if they use that of the agent. */
export function urlOfEngines(runtime: RuntimeLayer): string | undefined {
  return completeSpec(runtime).runtimeScheduler.serverUrl
}

/** Returns the check for a pod with the settings of builds of this runtime. */
export function nodeCheckOf({ kube, namespace, runtime, serverUrl, caFile }: PodTest): NodeCheck {
  const { runtimeScheduler, dockerDaemonScheduler } = completeSpec(runtime)
  const variables = Object.entries(runtimeScheduler.envVars).filter(([name]) => PROXY_VARIABLES.test(name))
  return {
    kube,
    clock: systemClock,
    namespace,
    dindImage: dockerDaemonScheduler.dindImage,
    diskPath: diskPath(dockerDaemonScheduler),
    podSecurity: dockerDaemonScheduler.podSecurityContext,
    daemonSecurity: daemonSecurity(dockerDaemonScheduler),
    engineImage: runtimeScheduler.image,
    serverUrl,
    serverCa: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    nodeSelector: runtimeScheduler.cluster.nodeSelector,
    tolerations: dockerDaemonScheduler.tolerations,
    environment: Object.fromEntries(variables),
  }
}
