export { isFatal, startAgent, type Agent, type AgentOptions } from './agent.ts'
export { dockerExecutor, type DockerParts } from './docker.ts'
export {
  attemptKey,
  type AttemptRef,
  type Executor,
  type ExecutorContext,
  type Fact,
  type OpenExecutor,
  type ReportFact,
} from './executor.ts'
export { kubernetesExecutor, type KubernetesOptions } from './kubernetes/executor.ts'
export { type AgentPolicy } from './kubernetes/policy/agent-policy.ts'
