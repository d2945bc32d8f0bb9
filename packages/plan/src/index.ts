export * from './build-transition.ts'
export * from './builtin-variables.ts'
export { checkPattern, matchesPattern, PatternError } from './pattern.ts'
export * from './condition.ts'
export * from './duration.ts'
export { evaluate, ExpressionError, isTruthy, parseExpression } from './expression.ts'
export type { Expression, ExpressionScope, Value } from './expression.ts'
export { EXPRESSION_FUNCTIONS } from './expression-functions.ts'
export type { ExpressionFunction } from './expression-functions.ts'
export { nodesOf } from './expression-parser.ts'
export type { Node as ExpressionNode } from './expression-parser.ts'
export * from './fold.ts'
export * from './graph.ts'
export * from './lists.ts'
export { buildOutcome } from './outcome.ts'
export type { BuildContext, Outcome } from './outcome.ts'
export * from './paths.ts'
export * from './plan.ts'
export type {
  ResolvedAction,
  ResolvedBuild,
  ResolvedFreestyle,
  ResolvedGitClone,
  ResolvedPush,
  ResolvedPushTag,
} from './resolve-action.ts'
export { fillJson, fillServices, resolveServices } from './resolve-compose.ts'
export type { ResolvedCompose, ResolvedComposition, ResolvedDeploy, ResolvedLaunch, ResolvedServices } from './resolve-compose.ts'
export * from './resolve-step.ts'
export * from './resume.ts'
export * from './results.ts'
export * from './retry.ts'
export * from './scope.ts'
export * from './snapshot.ts'
export { toFlag } from './step-fields.ts'
export type { StepProblem } from './step-fields.ts'
export * from './substitute.ts'
export * from './suggest.ts'
export * from './where.ts'
