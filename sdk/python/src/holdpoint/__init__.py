"""Make an agent's wait for a person durable: the client and the worker of holdpoint."""

from . import types
from ._approved import approval_of, approved, question_of
from ._async import AsyncHoldpoint
from ._json import decode_json, encode_json
from ._replies import CreatedRun, Page, RunResult, SessionResult
from ._stream import StreamItem
from ._sync import Holdpoint, Task
from ._sync_worker import Handler, Worker
from ._task import AsyncTask
from ._transport import RetryPolicy
from ._worker import AsyncHandler, AsyncWorker
from .answers import AnswerClaims, verify_answer
from .errors import AttemptFailed, Cancelled, HoldpointError, Kind, LeaseLost, NotAllowed, ProblemError, Suspended, UnavailableError, WorkerStopped, is_kind
from .grants import GrantClaims, input_digest, verify_grant

__all__ = [
    "AnswerClaims", "AsyncHandler", "AsyncHoldpoint", "AsyncTask", "AsyncWorker", "AttemptFailed", "Cancelled", "CreatedRun", "GrantClaims", "Handler", "Holdpoint",
    "HoldpointError", "Kind", "LeaseLost", "NotAllowed", "Page", "ProblemError", "RetryPolicy", "RunResult", "SessionResult", "StreamItem",
    "Suspended", "Task", "UnavailableError", "Worker", "WorkerStopped", "approval_of", "approved", "decode_json", "encode_json", "input_digest", "is_kind",
    "question_of", "types", "verify_answer", "verify_grant",
]
