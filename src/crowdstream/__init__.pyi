from crowdstream import metrics as metrics
from crowdstream.checks import check_estimator as check_estimator
from crowdstream.decisions import Decision as Decision
from crowdstream.errors import AnswerRateInDoubt as AnswerRateInDoubt
from crowdstream.errors import CrowdstreamError as CrowdstreamError
from crowdstream.errors import InputError as InputError
from crowdstream.errors import MergeError as MergeError
from crowdstream.errors import NotIdentifiable as NotIdentifiable
from crowdstream.errors import StateError as StateError
from crowdstream.estimators import Adaptive as Adaptive
from crowdstream.estimators import AgreementBased as AgreementBased
from crowdstream.estimators import CentredAgreement as CentredAgreement
from crowdstream.estimators import DictEstimator as DictEstimator
from crowdstream.estimators import Estimator as Estimator
from crowdstream.estimators import Identifiability as Identifiability
from crowdstream.estimators import MajorityVote as MajorityVote
from crowdstream.estimators import Tracking as Tracking
from crowdstream.estimators.specialists import ByGroup as ByGroup
from crowdstream.estimators.specialists import by_group as by_group
from crowdstream.labels import Answers as Answers
from crowdstream.labels import ClassLabel as ClassLabel
from crowdstream.labels import Intake as Intake
from crowdstream.labels import Label as Label
from crowdstream.labels import TaskId as TaskId
from crowdstream.labels import WorkerId as WorkerId
from crowdstream.monitoring import DriftAlarm as DriftAlarm
from crowdstream.monitoring import IdentifiabilityReport as IdentifiabilityReport
from crowdstream.monitoring import alarms as alarms
from crowdstream.monitoring import difficulty as difficulty
from crowdstream.monitoring import effective_votes as effective_votes
from crowdstream.monitoring import families as families
from crowdstream.monitoring import identifiability as identifiability
from crowdstream.monitoring import monitor as monitor
from crowdstream.monitoring import pairs as pairs
from crowdstream.monitoring import trends as trends
from crowdstream.science import baselines as baselines
from crowdstream.science import datasets as datasets
from crowdstream.science import theory as theory
from crowdstream.science.simulate import simulate as simulate
from crowdstream.science.simulate import simulate_blocks as simulate_blocks
from crowdstream.stopping import information as information
from crowdstream.stopping import labels_needed as labels_needed
from crowdstream.stream import Stream as Stream
from crowdstream.stream import load as load

__version__: str
__all__: list[str]
_HOME: dict[str, str]
