/** The Docker client and the archive of a work tree, for packages that run containers without an engine. */
export type { Attachment, ContainerMount, ContainerSpec } from './containers.ts'
export { refusalStatus } from './containers.ts'
export { openDocker, type Docker, type DockerOptions } from './docker.ts'
export { parseImageName, registryDomain, type RegistryLogin } from './images.ts'
export { listWorkTree, packWorkTree, type WorkTree } from '../git/pack-work-tree.ts'
