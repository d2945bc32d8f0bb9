/** How the parts that tests need are prepared: each by one script, which does nothing if the part is ready. */
import type { Part } from './groups.ts'

export interface Recipe {
  readonly command: readonly string[]
  /** Parts that are prepared before this one, so that no two prepare the same thing at the same time. */
  readonly needs?: readonly Part[]
  /** It may compile for minutes: one of these at a time. */
  readonly compiles?: true
  /** Nice value, 0 by default. Below zero for what the longest groups wait for: a run on a bare machine takes as long as these and their groups. */
  readonly nice?: number
  /** Its output is `NAME=value` lines for the environment of groups that use it. */
  readonly environment?: true
}

const packages = (...names: readonly string[]): Recipe => ({ command: ['scripts/setup', ...names] })
const image = (name: string, recipe: Omit<Recipe, 'command'> = {}): Recipe => ({
  ...recipe,
  command: ['scripts/images', name],
  needs: ['docker', ...(recipe.needs ?? [])],
  environment: true,
})

/** In the order in which they are started. The position of a compiled part depends on the first group that needs it. */
export const RECIPES: Readonly<Record<Part, Recipe>> = {
  web: packages('web'),
  programs: { command: ['node_modules/.bin/node', 'scripts/testing/programs.ts', 'build'], needs: ['web'], environment: true },
  git: packages('git'),
  openssl: packages('openssl'),
  python: packages('python'),
  postgres: packages('postgres'),
  docker: { command: ['scripts/docker', 'up'] },
  system: packages('system'),
  registry: packages('registry'),
  skopeo: packages('skopeo'),
  browser: packages('browser'),
  node20: { command: ['scripts/release/node20'] },
  'codefresh-cli': { command: ['scripts/codefresh-cli/install'] },
  'image:shell': image('shell'),
  'image:pause': image('pause'),
  'image:debian': image('debian'),
  'image:tools': image('tools', { needs: ['image:debian'] }),
  'image:node': image('node', { needs: ['image:debian'] }),
  'image:windlass': image('windlass', { needs: ['image:node', 'image:tools', 'web'] }),
  'image:gitlab-helper': image('gitlab-helper', { needs: ['image:node', 'web'] }),
  'image:dind': image('dind', { needs: ['image:tools'] }),
  'image:dind-rootless': image('dind-rootless', { needs: ['image:dind'] }),
  moto: { command: ['scripts/moto', 'install'], needs: ['python'] },
  kubernetes: { command: ['scripts/cluster', 'build'], compiles: true, nice: -5 },
  helm: { command: ['scripts/helm/build'], compiles: true, nice: -5 },
  // After Helm, with which it shares most of what is compiled.
  traefik: { command: ['scripts/traefik/build'], needs: ['helm'], compiles: true, nice: -5, environment: true },
  cluster: {
    command: ['scripts/testing/cluster'],
    needs: ['kubernetes', 'openssl', 'image:pause', 'image:shell', 'image:dind', 'image:gitlab-helper', 'image:windlass'],
    environment: true,
  },
  // After Kubernetes, whose kubectl it takes.
  'image:deploy': image('deploy', { needs: ['image:tools', 'kubernetes'] }),
  gitea: { command: ['scripts/gitea/build'], compiles: true, environment: true },
  'go-sdk': { command: ['scripts/go-sdk/build'], compiles: true, environment: true },
  // The longest to compile, and few files need it.
  argocd: { command: ['scripts/argocd/build'], compiles: true, environment: true },
  'image:argocd': image('argocd', { needs: ['image:debian', 'argocd', 'helm'] }),
  // A short group needs them.
  'image:buildkit': image('buildkit', { needs: ['image:tools'], compiles: true }),
  'image:cosign': image('cosign', { needs: ['image:tools'], compiles: true }),
}

/** Returns the requested parts with their dependencies, in the order of the table. */
export function withNeeds(asked: readonly Part[]): Part[] {
  const found = new Set<string>()
  const add = (part: Part): void => {
    if (found.has(part)) return
    found.add(part)
    for (const need of RECIPES[part].needs ?? []) add(need)
  }
  for (const part of asked) add(part)
  return Object.keys(RECIPES).filter((part): part is Part => found.has(part))
}
