/** The part of the acceptance tests that makes a pod: the tester of network and node (runner specification 6.4). */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { completeSpec, type RuntimeLayer } from '@windlass/protocol'
import { checkNode, type NodeCheck } from '../../doctor/check-node.ts'
import type { Finding } from './finding.ts'

export interface PodTest {
  readonly kube: Kube
  readonly namespace: string
  /** The runtime that is to be installed: its images, selectors and variables are those of builds. */
  readonly runtime: RuntimeLayer
  readonly serverUrl: string
  /** PEM file of the server's private authority. */
  readonly caFile: string | undefined
}

const PROXY_VARIABLES = /^(https?|no)_proxy$/i

/** What a build would find: the server from the pod network, and what its Docker daemon needs of a node. The pod is removed again. */
export async function testFromPod(test: PodTest): Promise<Finding[]> {
  const findings: Finding[] = []
  await checkNode(nodeCheckOf(test), (finding) => findings.push(finding))
  return findings
}

/** The pod that looks as a build of this runtime would. */
export function nodeCheckOf({ kube, namespace, runtime, serverUrl, caFile }: PodTest): NodeCheck {
  const { runtimeScheduler, dockerDaemonScheduler } = completeSpec(runtime)
  const variables = Object.entries(runtimeScheduler.envVars).filter(([name]) => PROXY_VARIABLES.test(name))
  return {
    kube,
    clock: systemClock,
    namespace,
    dindImage: dockerDaemonScheduler.dindImage,
    engineImage: runtimeScheduler.image,
    serverUrl,
    serverCa: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    nodeSelector: runtimeScheduler.cluster.nodeSelector,
    tolerations: dockerDaemonScheduler.tolerations,
    environment: Object.fromEntries(variables),
  }
}
