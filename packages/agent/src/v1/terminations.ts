/** Ends the wait of a workflow for its turn when the platform terminates the workflow. */
export interface Terminations {
  /** Notes that the termination of a workflow is accepted. A batch that waits, or begins before the termination is carried out, is withdrawn. */
  terminate(workflowId: string): void
  /** Runs a batch of a workflow with a signal that is aborted if the workflow is terminated meanwhile. A workflow has one batch in progress. */
  during<T>(workflowId: string, work: (withdrawn: AbortSignal) => Promise<T>): Promise<T>
  /** Notes that the termination is being carried out: later batches of the workflow are not withdrawn. */
  carriedOut(workflowId: string): void
}

export function openTerminations(): Terminations {
  /** By workflow, the controller that ends the wait of its batch in progress. */
  const waits = new Map<string, AbortController>()
  /** Workflows whose termination is accepted and not carried out yet. */
  const accepted = new Set<string>()
  return {
    terminate(workflowId) {
      accepted.add(workflowId)
      waits.get(workflowId)?.abort(terminated())
    },
    async during(workflowId, work) {
      const wait = new AbortController()
      waits.set(workflowId, wait)
      if (accepted.has(workflowId)) wait.abort(terminated())
      try {
        return await work(wait.signal)
      } finally {
        waits.delete(workflowId)
      }
    },
    carriedOut: (workflowId) => void accepted.delete(workflowId),
  }
}

function terminated(): DOMException {
  return new DOMException('the workflow is terminated', 'AbortError')
}
