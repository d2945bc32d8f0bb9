/** The runners by kind of action. A kind that the engine carries out (`performedBy` in package `plan`) needs a line here. */
import type { OverridableKind, ResolvedAction, RunnableKind } from '@windlass/plan'
import { runGitClone } from '../git/git-clone.ts'
import { runAnnotate } from './annotate.ts'
import { runBuild } from './build.ts'
import { runComposition } from './composition.ts'
import { runDeploy } from './deploy.ts'
import { freestyleContainer, runFreestyle } from './freestyle.ts'
import { runLaunch } from './launch-composition.ts'
import { runObtainIdToken } from './obtain-oidc-id-token.ts'
import { runPushTag } from './push-tag.ts'
import { runPush } from './push.ts'
import type { StepRunner } from './step-runner.ts'

type RunnerOf<K extends RunnableKind> = K extends OverridableKind
  ? Required<StepRunner<ResolvedAction<K>>>
  : Omit<StepRunner<ResolvedAction<K>>, 'heldContainer'>

const STEP_RUNNERS: { readonly [K in RunnableKind]: RunnerOf<K> } = {
  freestyle: { run: runFreestyle, heldContainer: freestyleContainer },
  'git-clone': { run: runGitClone },
  build: { run: runBuild },
  push: { run: runPush },
  'push-tag': { run: runPushTag },
  composition: { run: runComposition },
  'launch-composition': { run: runLaunch },
  deploy: { run: runDeploy },
  annotate: { run: runAnnotate },
  'obtain-oidc-id-token': { run: runObtainIdToken },
}

/** Returns the runner for an action. */
export function runnerOf<A extends ResolvedAction<RunnableKind>>(action: A): StepRunner<A> {
  // The type of the table gives each kind the runner of its actions, which TypeScript cannot follow through the index.
  return STEP_RUNNERS[action.kind] as unknown as StepRunner<A>
}
