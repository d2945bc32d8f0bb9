export { inCluster, readKubeconfig, type ClusterAccess } from './config.ts'
export {
  openKube,
  type DeleteOptions,
  type Kube,
  type KubeOptions,
  type PatchOptions,
  type Right,
  type Selection,
} from './kube.ts'
export { ALL_NAMESPACES, isKind, KINDS, KubeObject, refOf, type Kind, type Metadata, type ObjectRef } from './objects.ts'
export { type Change } from './watch.ts'
