import type { Finding, Subject } from './finding.ts'

/** Oldest Kubernetes version, the same as `kubeVersion` of the charts. */
export const OLDEST_KUBERNETES = { major: 1, minor: 25 } as const

/** Compares the version of the API server with the oldest supported one. */
export async function testVersion({ kube }: Pick<Subject, 'kube'>): Promise<readonly Finding[]> {
  return [evaluateVersion(await kube.version())]
}

/** Evaluates a version such as `v1.34.4` or `v1.29.3-eks-ae9a62a`. Pure. */
export function evaluateVersion(text: string): Finding {
  const check = 'version'
  const found = /^v?(\d+)\.(\d+)/.exec(text)
  const oldest = `${OLDEST_KUBERNETES.major}.${OLDEST_KUBERNETES.minor}`
  if (found === null) return { check, status: 'warn', message: `The version of the cluster, "${text}", cannot be parsed.` }
  const [major, minor] = [Number(found[1]), Number(found[2])]
  const isOld = major < OLDEST_KUBERNETES.major || (major === OLDEST_KUBERNETES.major && minor < OLDEST_KUBERNETES.minor)
  if (!isOld) return { check, status: 'pass', message: `Kubernetes ${text}` }
  return {
    check,
    status: 'fail',
    message: `The cluster runs Kubernetes ${text}; the oldest supported version is ${oldest}.`,
    hint: 'Upgrade the cluster.',
  }
}
