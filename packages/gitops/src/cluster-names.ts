/** Names of managed clusters. */

const MAX_BASE = 61
const MAX_NAME = 63

/** Returns a name for the cluster of a kubeconfig context that is not among `taken`: `arn:aws:eks:eu/shop` becomes `arn-aws-eks-eu-shop`. */
export function clusterNameOf(context: string, taken: ReadonlySet<string>): string {
  const plain = context
    .toLowerCase()
    .replaceAll(/[^-a-z0-9]/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_BASE)
    .replace(/-+$/, '')
  const base = plain === '' ? 'cluster' : plain
  for (let number = 0; ; number += 1) {
    const suffix = number === 0 ? '' : `-${number}`
    const name = base.slice(0, MAX_NAME - suffix.length).replace(/-+$/, '') + suffix
    if (!taken.has(name)) return name
  }
}
